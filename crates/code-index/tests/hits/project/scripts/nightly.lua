-- What runs at night: suggestions, statistics, old sessions.
local M = {}

function M.rebuild_prefix_tree(catalogue)
  local tree = new_tree()
  for _, product in ipairs(catalogue) do
    tree:insert(product.title)
  end
  return tree
end

-- Removes sessions that nobody has used for thirty days.
function M.purge_sessions(store, now)
  for id, session in pairs(store) do
    if now - session.last_seen > 30 * 86400 then store[id] = nil end
  end
end

local function parseHTTPDate(text)
  return os.time(split_date(text))
end

return M
