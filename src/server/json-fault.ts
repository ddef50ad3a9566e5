// Where a text stops being JSON. The message of JSON.parse says so only sometimes, and a line and a column are what people need.

/** The offset of the first character that cannot stand there; the length of the text when it only ends too soon. */
export function jsonFault(text: string): number {
  const open: string[] = []
  let at = 0
  let wanted: 'value' | 'value-or-end' | 'key' | 'key-or-end' | 'colon' | 'comma' = 'value'
  for (;;) {
    while (BLANK.has(text[at] ?? '')) at++
    const sign = text[at]
    if (sign === undefined) return text.length
    const isEnd = sign === '}' || sign === ']'
    if (isEnd && (wanted === 'comma' || wanted.endsWith('-or-end'))) {
      if (open.pop() !== (sign === '}' ? '{' : '[')) return at
      at++
      wanted = 'comma'
    } else if (wanted === 'comma') {
      if (sign !== ',' || open.length === 0) return at
      at++
      wanted = open.at(-1) === '{' ? 'key' : 'value'
    } else if (wanted === 'colon') {
      if (sign !== ':') return at
      at++
      wanted = 'value'
    } else if (sign === '"') {
      const end = stringEnd(text, at)
      if (end < 0) return -end
      at = end
      wanted = wanted.startsWith('key') ? 'colon' : 'comma'
    } else if (wanted.startsWith('key')) return at
    else if (sign === '{' || sign === '[') {
      open.push(sign)
      at++
      wanted = sign === '{' ? 'key-or-end' : 'value-or-end'
    } else {
      WORD.lastIndex = at
      const word = WORD.exec(text)?.[0] ?? ''
      if (word === '') return at
      at += word.length
      wanted = 'comma'
    }
  }
}

const BLANK: ReadonlySet<string> = new Set([' ', '\t', '\n', '\r'])
const WORD = /(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)(?![\w.+-])/y

/** The offset behind the string that begins here; below zero: the offset of what cannot stand in one. */
function stringEnd(text: string, from: number): number {
  for (let at = from + 1; at < text.length; at++) {
    const sign = text[at]!
    if (sign === '"') return at + 1
    if (sign < ' ') return -at
    if (sign !== '\\') continue
    at++
    if (text[at] === 'u' && /^[\da-fA-F]{4}$/.test(text.slice(at + 1, at + 5))) at += 4
    else if (!'"\\/bfnrt'.includes(text[at] ?? 'x')) return -at
  }
  return -text.length
}
