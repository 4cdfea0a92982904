import { FollowupController } from "headstart/controller";
import { useFollowup } from "headstart/react";
import { StrictMode, createElement, useState } from "react";
import { createRoot } from "react-dom/client";

function Prompt() {
  const [controller] = useState(() => new FollowupController({ showDelayMs: 0, tabDelayMs: 0 }));
  const [value, setValue] = useState(new URLSearchParams(location.search).get("draft") ?? "");
  const [sent, setSent] = useState([]);
  const { ref, tell, suggestion } = useFollowup({ controller, value });
  const send = (event) => {
    event.preventDefault();
    setSent([...sent, value]);
    setValue("");
    tell({ type: "clear" });
    tell({ type: "suggested", request: sent.length + 2, suggestion: "commit this" });
  };
  return createElement(
    "form",
    { onSubmit: send },
    createElement("input", { ref, value, onChange: ({ target }) => setValue(target.value) }),
    createElement("button", { type: "button", id: "suggest", onClick: () => tell({ type: "suggested", request: 1, suggestion: "run the tests" }) }, "suggest"),
    createElement("output", null, JSON.stringify({ value, sent, suggestion: suggestion ?? null })),
  );
}

createRoot(document.getElementById("root")).render(createElement(StrictMode, null, createElement(Prompt)));
