// Settings files as people have them: JSON with comments, odd indentation and trailing commas, TOML with all kinds of tables, either kind
// of line end, a byte order mark, no line end at the end.

import fc from 'fast-check'

export interface RandomSettings {
  readonly text: string
  /** Every comment in it. */
  readonly comments: readonly string[]
}

interface Style {
  readonly indent: string
  readonly eol: string
  /** A comment at every so many entries; 0 for none. */
  readonly every: number
  readonly trailing: boolean
  readonly mark: boolean
  readonly end: boolean
}

const style: fc.Arbitrary<Style> = fc.record({
  indent: fc.constantFrom('', '  ', '    ', '\t', '   ', ' '),
  eol: fc.constantFrom('\n', '\r\n'),
  every: fc.nat(3),
  trailing: fc.boolean(),
  mark: fc.boolean(),
  end: fc.boolean(),
})

const word = fc.constantFrom('a', 'theme', 'x y', 'ключ', '😀', 'a"b', 'a//b', '\\', 'nested', 'list', 'planfolder')
const leaf = fc.oneof(fc.constant(null), fc.boolean(), fc.integer(), fc.double({ noNaN: true }), fc.string(), word)
const { value } = fc.letrec<{ value: unknown }>(tie => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    leaf,
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(word, tie('value'), { maxKeys: 3, noNullPrototype: true }),
  ),
}))

/** Somebody's own settings around the places where ours go. */
export const jsonSettings: fc.Arbitrary<RandomSettings> = fc
  .record({
    rest: fc.dictionary(word, value, { maxKeys: 4, noNullPrototype: true }),
    servers: fc.option(fc.dictionary(word, value, { maxKeys: 2, noNullPrototype: true })),
    hooks: fc.option(
      fc.record(
        {
          SessionStart: fc.array(value, { maxLength: 3 }),
          PreToolUse: fc.array(value, { maxLength: 2 }),
          Stop: fc.array(value, { maxLength: 2 }),
        },
        { requiredKeys: ['SessionStart', 'Stop'] },
      ),
    ),
    first: fc.boolean(),
    style,
  })
  .map(({ rest, servers, hooks, first, style }) => {
    const ours = {
      ...(servers === null ? {} : { mcp: servers, mcpServers: servers }),
      ...(hooks === null ? {} : { hooks }),
    }
    return printJson(first ? { ...ours, ...rest } : { ...rest, ...ours }, style)
  })

function printJson(root: object, { indent, eol, every, trailing, mark, end }: Style): RandomSettings {
  const comments: string[] = []
  let count = 0
  const comment = (): string => {
    if (every === 0 || ++count % every !== 0) return ''
    const text = indent === '' || count % 2 === 0 ? `/* comment ${count}, */` : `// comment ${count} "}`
    comments.push(text)
    return ` ${text}`
  }
  const print = (value: unknown, depth: number): string => {
    if (value === null || typeof value !== 'object') return JSON.stringify(value)
    const isList = Array.isArray(value)
    const parts = isList
      ? value.map(one => print(one, depth + 1))
      : Object.entries(value).map(
          ([key, one]) => `${JSON.stringify(key)}:${indent === '' ? '' : ' '}${print(one, depth + 1)}`,
        )
    const [open, close] = isList ? ['[', ']'] : ['{', '}']
    if (parts.length === 0) return `${open}${close}`
    const [pad, back] = indent === '' ? ['', ''] : [eol + indent.repeat(depth + 1), eol + indent.repeat(depth)]
    const lines = parts.map((part, at) => {
      const comma = at < parts.length - 1 || trailing ? ',' : ''
      return `${pad}${part}${comma}${comment()}`
    })
    return `${open}${lines.join('')}${back}${close}`
  }
  return { text: `${mark ? '\ufeff' : ''}${print(root, 0)}${end ? eol : ''}`, comments }
}

const tomlLine = fc.constantFrom(
  'model = "gpt"',
  'big = 9007199254740993',
  'when = 2026-11-16T12:00:00Z',
  'list = [1, 2, 3] # comment list',
  'text = """\n# >>> not ours\n"""',
  '# comment alone',
  '',
  '\tindented = true',
  'inline = { a = 1, "b c" = [{ d = 2 }] }',
)
const tomlTable = fc.constantFrom(
  '[mcp_servers.other]',
  '[mcp_servers."with dots.x"]',
  '[projects."/home/a b"]',
  '[[many]]',
  '[ features ]',
  '[mcp_servers.planfolder.env]',
)

export const tomlSettings: fc.Arbitrary<RandomSettings> = fc
  .record({
    top: fc.uniqueArray(tomlLine, { maxLength: 4 }),
    tables: fc.uniqueArray(fc.record({ head: tomlTable, lines: fc.uniqueArray(tomlLine, { maxLength: 3 }) }), {
      maxLength: 4,
      selector: ({ head }) => head,
    }),
    style,
  })
  .map(({ top, tables, style: { eol, mark, end } }) => {
    const lines = [...top, ...tables.flatMap(({ head, lines }) => [head, ...lines])].join('\n').split('\n')
    return {
      text: `${mark ? '\ufeff' : ''}${lines.join(eol)}${end ? eol : ''}`,
      comments: lines.flatMap(line => /# comment.*$/.exec(line)?.[0] ?? []),
    }
  })
