/**
 * What the parsers report, in Simplified Chinese. The parsers speak English; a message that is not listed here (those
 * of the YAML package) is shown as it is.
 */
const PLAIN: Readonly<Record<string, string>> = {
  "A colon is expected after the key.": "键后面应有冒号。",
  "A comma is missing here.": "这里缺少逗号。",
  "A key is expected.": "这里应是一个键。",
  "A value is missing here.": "这里缺少值。",
  "A value is missing.": "缺少值。",
  "A blank after the backslash: the command ends here.": "反斜杠后有空格：命令在此处结束。",
  "A tab cannot indent YAML; use spaces.": "YAML 不能用制表符缩进，请用空格。",
  "Merge-conflict marker: resolve the conflict. The first side is read until then.":
    "合并冲突标记：请解决冲突，在此之前按第一侧读取。",
  "NUL character: the file is binary or not saved as UTF-8.": "含有 NUL 字符：文件是二进制或未以 UTF-8 保存。",
  "Nested too deeply to be read.": "嵌套过深，无法读取。",
  "Nothing may follow the end of the value.": "值结束后不能再有内容。",
  "Only a comment may follow the value.": "值后面只能有注释。",
  "Template text: the value is unknown until it is filled in.": "模板文本：填入之前值未知。",
  "The brace is never closed.": "花括号没有闭合。",
  "The closing ''' is missing.": "缺少结尾的 '''。",
  "The closing quote is missing.": "缺少结尾的引号。",
  "The closing quotes are missing.": "缺少结尾的引号。",
  "The code cells are too long to be read.": "代码单元过长，无法读取。",
  "The comment is never closed.": "注释没有闭合。",
  "The list is never closed.": "列表没有闭合。",
  "This brace is never closed.": "这个花括号没有闭合。",
  "This bracket is never closed.": "这个括号没有闭合。",
  "This comment ends the command: the lines below are not passed to it.": "注释使命令在此结束：下面的行不会传给它。",
  "This is no TOML value; text needs quotes.": "这不是 TOML 的值；文本需要引号。",
  "This is not YAML.": "这不是 YAML。",
  "Unknown escape.": "未知的转义。",
  "Unquoted text runs to the end of the line and swallows the bracket; quote it.":
    "未加引号的文本会一直读到行尾并吞掉括号，请加引号。",
  "`,` or `]` is expected.": "这里应是 `,` 或 `]`。",
  "`,` or `}` is expected.": "这里应是 `,` 或 `}`。",
  "`=` is expected after the key.": "键后面应有 `=`。",
  "`]` is expected.": "这里应是 `]`。",
  "`]]` is expected.": "这里应是 `]]`。",
};

const PATTERNS: readonly (readonly [RegExp, string])[] = [
  [/^Duplicate key `(.*)`\.$/, "键 `$1` 重复。"],
  [/^Duplicate key `(.*)`; the last one counts\.$/, "键 `$1` 重复，以最后一个为准。"],
  [/^`(.*)` is defined twice\.$/, "`$1` 被定义了两次。"],
  [/^`(.*)` has no value\.$/, "`$1` 没有值。"],
  [/^Unexpected `(.*)`; a key is expected\.$/, "意外的 `$1`，这里应是一个键。"],
  [/^There is no anchor `(.*)` above\.$/, "上面没有锚点 `$1`。"],
  [/^Nested deeper than (\d+) levels.*$/, "嵌套超过 $1 层，其余部分不读取。"],
  [/^This file has (\d+) K characters; configs are read up to (\d+) K\.$/, "文件有 $1 K 字符；配置文件最多读取 $2 K。"],
];

/** A parser's message in Simplified Chinese, or as it is. */
export function syntaxZh(message: string): string {
  const plain = PLAIN[message];
  if (plain !== undefined) return plain;
  const pattern = PATTERNS.find(([english]) => english.test(message));
  return pattern === undefined ? message : message.replace(pattern[0], pattern[1]);
}
