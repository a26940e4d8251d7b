/** Runs every rule over a run and places what it says. */

import { say } from "../../words/message";
import type { Setting } from "../frameworks/settings";
import type { Problem, Related } from "../problems";
import { repeatedValue } from "./repeated-value";
import type { Facts, Rule } from "./rule";
import { RULES } from "./rules";

export function ruleProblems(facts: Facts): Problem[] {
  return RULES.flatMap((rule) => problemsOf(rule, facts));
}

function problemsOf(rule: Rule, facts: Facts): Problem[] {
  return rule.check(facts).flatMap((found): Problem[] => {
    const place = found.at?.place;
    if (place == null) return [];
    const related = (found.related ?? []).flatMap(relatedTo);
    return [
      {
        code: rule.code,
        severity: found.severity ?? rule.severity,
        message: { id: rule.code, args: found.args ?? {} },
        uri: place.uri,
        span: place.keySpan,
        ...(related.length > 0 ? { related } : {}),
        ...(found.fixes === undefined ? {} : { fixes: found.fixes }),
      },
    ];
  });
}

function relatedTo(setting: Setting | undefined): Related[] {
  if (setting?.place == null) return [];
  return [
    {
      uri: setting.place.uri,
      span: setting.place.valueSpan,
      message: say("related.setting", { name: setting.key, value: repeatedValue(setting.value) }),
    },
  ];
}
