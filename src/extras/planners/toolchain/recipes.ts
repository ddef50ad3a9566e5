// The recipe of a target in a `Makefile` or `justfile`, as the shell gets it: the file's own variables are filled in, so that
// `$(DOCKER) run` is seen to be `docker run`. Nothing is run; what is only known to `make` stays as it is written.

const DEPTH_MAX = 8
const LENGTH_MAX = 20_000

/** The lines of the recipe, and its head as a command, `make lint types`, since what it needs runs before; empty if there is none. */
export function recipeOf(text: string, target: string): readonly string[] {
  const lines = text.replace(/\\\r?\n[ \t]*/g, ' ').split(/\r?\n/)
  const first = lines.findIndex(line => new RegExp(`^${target.replace(/\W/g, '\\$&')}(\\s[^:=]*)?:(?!=)`).test(line))
  if (first < 0) return []
  const end = lines.findIndex((line, index) => index > first && /^[^\s#]/.test(line))
  const [head = '', ...recipe] = lines.slice(first, end < 0 ? undefined : end)
  const [needs = '', ...inline] = head.slice(head.indexOf(':') + 1).split(';')
  const values = variablesIn(lines)
  return [...inline, ...recipe, `make ${needs}`].map(line => filledIn(line.trim().replace(/^[@+-]+\s*/, ''), values))
}

/** The target in `make -C web V=1 test`; `undefined` for the first one of the file. */
export function targetOf([, ...words]: readonly string[]): string | undefined {
  const names = words.filter((word, at) => !/^-[CfIjoW]$/.test(words[at - 1] ?? '') && !/^-|^\w+[:+?]?=/.test(word))
  return names[0]
}

function variablesIn(lines: readonly string[]): ReadonlyMap<string, string> {
  const values = new Map<string, string>()
  for (const line of lines) {
    const [, name, how, value] =
      /^(?:export +)?([A-Za-z_][\w.-]*) *(\?|:{1,3}|\+)?= *(.*?) *(?: #.*)?$/.exec(line) ?? []
    if (name === undefined || (how === '?' && values.has(name))) continue
    values.set(name, how === '+' ? `${values.get(name) ?? ''} ${value}` : value!)
  }
  return values
}

function filledIn(line: string, values: ReadonlyMap<string, string>): string {
  let text = line
  for (let depth = 0; depth < DEPTH_MAX && text.length < LENGTH_MAX; depth++) {
    const next = text
      .replace(/(?<!\$)\$[({]([\w.-]+)[)}]/g, (whole, name: string) => values.get(name) ?? whole)
      // Quotes around a value of a justfile are its own.
      .replace(
        /\{\{ *([\w-]+) *\}\}/g,
        (whole, name: string) => values.get(name)?.replace(/^(["'])(.*)\1$/, '$2') ?? whole,
      )
      .replace(/(?<!\$)\$\((?:wildcard|strip) +([^()]*)\)/g, '$1')
      .replace(/(?<!\$)\$\(shell +/g, '$(')
    if (next === text) break
    text = next
  }
  return text.replaceAll('$$', '$')
}
