-- Copies the database to another machine and keeps the last seven copies.
local KEPT = 7

local function dump_database(url, target)
  return os.execute(("pg_dump %s > %s"):format(url, target))
end

local function rotate(folder)
  local copies = list(folder)
  table.sort(copies)
  while #copies > KEPT do os.remove(table.remove(copies, 1)) end
end

return { dump_database = dump_database, rotate = rotate }
