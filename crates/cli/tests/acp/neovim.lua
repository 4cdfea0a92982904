-- Plays a user of codecompanion.nvim in an editor without a screen: types prompts into the plugin's chat, and answers
-- its questions with its own keys.
-- Arguments: the folder of the plugins, and then the command of the agent.
local arguments = vim.list_slice(_G.arg, 1)
local plugins = table.remove(arguments, 1)
for _, name in ipairs({ "plenary.nvim", "codecompanion.nvim" }) do
  vim.opt.runtimepath:append(plugins .. "/" .. name)
end
vim.cmd("runtime! plugin/codecompanion.lua")
vim.o.swapfile = false

-- The settings that docs/acp.md shows.
require("codecompanion").setup({
  adapters = {
    acp = {
      headstart = function()
        return require("codecompanion.adapters").extend("opencode", {
          name = "headstart",
          formatted_name = "headstart",
          commands = { default = arguments },
        })
      end,
    },
  },
  interactions = { chat = { adapter = "headstart" } },
})

local happened = {}
vim.api.nvim_create_autocmd("User", {
  pattern = "CodeCompanion*",
  callback = function(event)
    happened[event.match] = (happened[event.match] or 0) + 1
  end,
})

vim.cmd("CodeCompanionChat")
local chat = require("codecompanion").last_chat()
local function lines()
  return vim.api.nvim_buf_get_lines(chat.bufnr, 0, -1, false)
end

local function wait(what, is_there)
  if not vim.wait(30000, is_there, 20) then
    io.stderr:write(what .. " does not come\n" .. vim.inspect(happened) .. "\n" .. table.concat(lines(), "\n") .. "\n")
    vim.cmd("cquit")
  end
end

local function press(keys)
  vim.api.nvim_set_current_buf(chat.bufnr)
  vim.api.nvim_feedkeys(vim.api.nvim_replace_termcodes(keys, true, false, true), "x", false)
end

-- Returns the description of the agent's command of this name, or an empty text if there is no such command.
local function offered(name)
  local commands = require("codecompanion.interactions.chat.acp.commands")
  for _, command in ipairs(commands.get_commands_for_session(chat.acp_connection and chat.acp_connection.session_id)) do
    if command.name == name then
      return command.description
    end
  end
  return ""
end

-- Says whether the chat waits for a prompt: its last heading is the user's, and nothing follows it.
local function awaits_prompt()
  local text = vim.trim(table.concat(lines(), "\n"))
  return text:find("## Me$") ~= nil
end

-- Types a prompt, sends it, and gives these answers to its questions until the turn is over. Returns the number of
-- questions.
local function say(text, answers)
  wait("the place for a prompt", awaits_prompt)
  local done = (happened.CodeCompanionChatDone or 0) + 1
  local before = happened.CodeCompanionToolApprovalRequested or 0
  local answered = before
  press("Go" .. text .. "<Esc>")
  press("<CR>")
  wait("an answer to " .. text, function()
    if answered < (happened.CodeCompanionToolApprovalRequested or 0) then
      answered = answered + 1
      press(require("codecompanion.interactions.chat.tools.labels").keymaps()[answers[answered - before]])
    end
    return done <= (happened.CodeCompanionChatDone or 0)
  end)
  return answered - before
end

wait("a session", function()
  return offered("diff") ~= ""
end)
local questions = { say("write two files", { "accept", "reject" }) }
wait("the suggestion", function()
  return offered("next"):find("ready") ~= nil
end)
local suggestion = offered("next")
table.insert(questions, say("\\next", { "accept" }))
print(vim.json.encode({ questions = questions, suggestion = suggestion, chat = table.concat(lines(), "\n") }))
vim.cmd("qall!")
