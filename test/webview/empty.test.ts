/** A page without a report: the one thing to do about it. */
import { strict as assert } from "node:assert";
import { emptyView } from "../../webview-ui/view/empty";
import { buttons, press, textOf, viewOf } from "./nodes";

const view = (reason: "no-document" | "not-recognised" | "off", workspace: boolean) =>
  viewOf({ type: "host", message: { type: "empty", reason, message: "", locale: "en", workspace } });

describe("page: nothing to show", () => {
  for (const reason of ["no-document", "not-recognised"] as const)
    it(`looks for configs of the workspace on a click: ${reason}`, () => {
      const { view: shown, sent } = view(reason, true);
      const page = emptyView(shown);
      assert.ok(page);
      const [button] = buttons(page);
      assert.ok(button);
      assert.equal(textOf(button), "Find the configs of this workspace");
      press(button);
      assert.deepEqual(sent, [{ type: "checkAll" }]);
    });

  it("offers it only where there is a workspace, and nothing where it is switched off", () => {
    for (const shown of [view("no-document", false), view("off", true)]) {
      const page = emptyView(shown.view);
      assert.ok(page);
      assert.deepEqual(buttons(page), []);
    }
  });
});
