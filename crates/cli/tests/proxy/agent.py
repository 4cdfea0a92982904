#!/usr/bin/env python3
"""An agent of the Agent Client Protocol that does what ~/.claude/script.json says: for each prompt a list of steps.

It keeps its sessions below ~/.claude/projects, forks and resumes them, and asks before it acts in the mode `default`.
"""

import json, os, subprocess, sys, time, uuid

HOME = os.environ["HOME"]
STATE = os.path.join(HOME, ".claude/projects")
script = json.load(open(os.path.join(HOME, ".claude/script.json")))
sessions, folders, modes, asked, cancelled = {}, {}, {}, 0, set()
waiting, resumed, models, options = [], set(), {}, {}


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def receive():
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)


def path(session):
    return os.path.join(STATE, session + ".json")


def keep(session):
    os.makedirs(STATE, exist_ok=True)
    with open(path(session), "w") as file:
        json.dump(sessions[session], file)


def update(session, **fields):
    send({"method": "session/update", "params": {"sessionId": session, "update": fields}})


def opened(session, cwd, **more):
    folders[session] = cwd
    modes.setdefault(session, script.get("mode", "default"))
    options.setdefault(session, dict(script.get("options", {})))
    if options[session]:
        more["configOptions"] = option_list(session)
    names = [{"id": name, "name": name} for name in ("default", "acceptEdits", "plan")]
    return {**more, "modes": {"currentModeId": modes[session], "availableModes": names}}


def option_list(session):
    """The options of a session. One is named `approval`, and is the mode."""
    values = {**options[session], "approval": modes[session], "model": models.get(session, "none")}
    category = {"approval": "mode", "model": "model"}
    return [{"id": name, "name": name, "type": "select", "category": category.get(name, "other"),
             "currentValue": value, "options": []} for name, value in values.items()]


def settings(session):
    return json.dumps([modes[session], models.get(session), options[session]])


def ask(session, call):
    """Asks whether a call may go on, and waits for the answer; messages in between wait."""
    global asked
    asked += 1
    ask_id = asked
    options = [{"optionId": kind, "name": kind, "kind": kind} for kind in ("allow_once", "allow_always", "reject_once")]
    params = {"sessionId": session, "toolCall": call, "options": options}
    send({"id": ask_id, "method": "session/request_permission", "params": params})
    while True:
        message = receive()
        if message.get("id") == ask_id and "method" not in message:
            return message["result"]["outcome"].get("optionId", "cancelled").startswith("allow")
        if message.get("method") == "session/cancel":
            cancelled.add(message["params"]["sessionId"])
            return False
        waiting.append(message)


def act(session, number, step):
    cwd = folders[session]
    call = {"toolCallId": f"{session[:4]}-{len(sessions[session])}-{number}", "status": "pending"}
    if "write" in step:
        target = os.path.join(cwd, step["write"])
        call.update(kind="edit", title="Write", rawInput={"file_path": target}, locations=[{"path": target}])
    elif "run" in step:
        call.update(kind="execute", title=step["run"], rawInput={"command": step["run"]})
    else:
        call.update(step["call"])
    update(session, sessionUpdate="tool_call", **call)
    if modes[session] == "plan" and "write" in step:
        update(session, sessionUpdate="tool_call_update", toolCallId=call["toolCallId"], status="failed")
        return
    asks = step.get("ask", modes[session] == "default")
    if asks and not ask(session, call):
        update(session, sessionUpdate="tool_call_update", toolCallId=call["toolCallId"], status="failed")
        sessions[session].append(["refused", call["title"]])
        return
    status, said = "completed", ""
    if "write" in step:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "w") as file:
            file.write(step["content"])
    elif "run" in step:
        done = subprocess.run(["bash", "-c", step["run"]], cwd=cwd, capture_output=True, text=True)
        status, said = "completed" if done.returncode == 0 else "failed", done.stdout
    sessions[session].append(["did", call["title"], said])
    update(session, sessionUpdate="tool_call_update", toolCallId=call["toolCallId"], status=status, rawOutput=said)


def turn(session, text):
    words = "suggest" if text.startswith("[A question from the program") else text
    sessions[session].append(["user", words])
    for number, step in enumerate(script.get(words, [{"say": "Hello there."}])):
        if session in cancelled:
            cancelled.discard(session)
            return {"stopReason": "cancelled"}
        if "say" in step:
            said = step["say"].replace("HISTORY", json.dumps(sessions[session]))
            said = said.replace("SETTINGS", settings(session))
            sessions[session].append(["model", step["say"]])
            update(session, sessionUpdate="agent_message_chunk", content={"type": "text", "text": said})
        elif "update" in step:
            update(session, **step["update"])
        elif "line" in step:
            sys.stdout.write(step["line"] + "\n")
            sys.stdout.flush()
        elif "fail" in step:
            raise ValueError(step["fail"])
        elif "sleep" in step:
            time.sleep(step["sleep"])
        elif "python" in step:
            exec(step["python"], {"cwd": folders[session], "session": session, "os": os})
        elif "many" in step:
            for _ in range(step["many"]):
                update(session, sessionUpdate="agent_message_chunk", content={"type": "text", "text": "word "})
        elif "exit" in step:
            sys.stderr.write("the last words\n")
            sys.stderr.flush()
            os._exit(step["exit"])
        else:
            act(session, number, step)
    keep(session)
    usage = {"inputTokens": 100, "outputTokens": 10, "totalTokens": 110}
    return {"stopReason": "end_turn", "usage": usage}


def answer(method, params):
    session = params.get("sessionId")
    time.sleep(script.get("slow", {}).get(method, 0))
    if session in resumed and method == script.get("refuses"):
        raise ValueError("not in this session")
    if session in resumed and method == script.get("ignores"):
        return None
    if method == "initialize":
        can = {name: {} for name in script.get("can", ["fork", "resume", "close", "delete", "list"])}
        about = {"loadSession": True, "sessionCapabilities": can}
        return {"protocolVersion": 1, "agentCapabilities": about, "_meta": {"seen": json.dumps(params)}}
    if method == "session/new":
        session = str(uuid.uuid4())
        sessions[session] = []
        keep(session)
        return opened(session, params["cwd"], sessionId=session)
    if method == "session/fork":
        fork = str(uuid.uuid4())
        sessions[fork] = json.load(open(path(session)))
        keep(fork)
        time.sleep(script.get("fork_takes", 0))
        return opened(fork, params["cwd"], sessionId=fork)
    if method in ("session/load", "session/resume"):
        if script.get("resume") == "fails" and method == "session/resume":
            raise ValueError("no such session")
        if script.get("resume") == "dies" and method == "session/resume":
            os._exit(3)
        resumed.add(session)
        sessions[session] = json.load(open(path(session)))
        if method == "session/load":
            for part in sessions[session]:
                kind = {"user": "user_message_chunk"}.get(part[0], "agent_message_chunk")
                update(session, sessionUpdate=kind, content={"type": "text", "text": part[1]})
        return opened(session, params["cwd"])
    if method == "session/list":
        listed = sorted(name[:-5] for name in os.listdir(STATE) if name.endswith(".json"))
        return {"sessions": [{"sessionId": name, "cwd": "/"} for name in listed]}
    if method == "session/delete":
        os.remove(path(session))
        return {}
    if method == "session/close":
        sessions.pop(session, None)
        return {}
    if method == "session/set_mode":
        if params["modeId"] not in ("default", "acceptEdits", "plan"):
            raise ValueError("no such mode")
        modes[session] = params["modeId"]
        return {}
    if method == "session/set_model":
        models[session] = params["modelId"]
        return {}
    if method == "session/set_config_option":
        known = {"approval": modes, "model": models}.get(params["configId"])
        if known is not None:
            known[session] = params["value"]
        else:
            options[session][params["configId"]] = params["value"]
        return {"configOptions": option_list(session)}
    if method == "_mode":
        modes[session] = params["mode"]
        update(session, sessionUpdate="current_mode_update", currentModeId=params["mode"])
        return {}
    if method == "session/prompt":
        return turn(session, "".join(block.get("text", "") for block in params["prompt"]))
    if method.startswith("_"):
        return {"echo": params}
    raise KeyError(method)


while True:
    message = waiting.pop(0) if waiting else receive()
    if "id" not in message or "method" not in message:
        continue
    try:
        result = answer(message["method"], message.get("params", {}))
        if result is not None:
            send({"id": message["id"], "result": result})
    except Exception as error:
        send({"id": message["id"], "error": {"code": -32603, "message": repr(error)}})
    if message["method"] == "session/delete" and script.get("late"):
        update(message["params"]["sessionId"], sessionUpdate="agent_message_chunk", content={"type": "text", "text": "late"})
    if message["method"] == "session/new":
        commands = [{"name": "own", "description": "a command of the agent's"}]
        update(result["sessionId"], sessionUpdate="available_commands_update", availableCommands=commands)
