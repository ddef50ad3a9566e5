// Commands that verify the goal: they fail today and succeed after a correct change. They are derived from the goal's text alone;
// if it contains nothing checkable, there are none, and the plan asks.

import { asksFirst } from '../../domain/plan-rules/instruction-file.ts'
import { shellQuoted } from '../../domain/plan-rules/shell-words.ts'
import type { Toolchain } from './found-commands.ts'
import type { GoalWords } from './goal.ts'
import type { GoalKind } from './goal-kind.ts'
import { docsPage, isInSource } from './kinds/docs-page.ts'
import type { EndCheck } from './kinds/end-check.ts'
import { renamed } from './kinds/rename.ts'
import { isMetadata, roleOf } from './ranking/file-role.ts'
import { foreignWish } from './sentence/goal-language.ts'
import { namedDependency, updated } from './toolchain/dependency.ts'
import { commandLine, namedCommands } from './toolchain/named-commands.ts'

export { namedDependency } from './toolchain/dependency.ts'

export interface EndInput {
  readonly goal: GoalWords
  readonly kind: GoalKind
  readonly toolchain: Toolchain
  readonly paths: readonly string[]
  /** The files that were read. */
  readonly texts: ReadonlyMap<string, string>
  /** Files to leave alone. */
  readonly not: readonly string[]
}

export function endChecks(input: EndInput): readonly EndCheck[] {
  const own = reproduction(input)
  const found = own === null ? [] : [own]
  switch (input.kind) {
    case 'failing-test':
      return found.length > 0 ? found : testsPass(input)
    case 'rename':
      return [...found, ...renamed(input)]
    case 'failing-command':
      return namedCommands(input.goal, input.toolchain.commands).map(command => {
        const script = commandLine(command)
        return { script, text: `${script} succeeds`, command }
      })
    case 'dependency-update': {
      const named = namedDependency(input)
      return named === null ? [] : updated(named, input.texts.get(named.manifest) ?? '')
    }
    case 'docs':
      return [...found, ...documented(input)]
    case 'endpoint':
      return [...found, ...routed(input)]
    case 'feature':
    case 'refactor':
      return [...found, ...created(input), ...(input.kind === 'feature' ? introduced(input) : [])]
    case 'bug':
    case 'security':
    case 'performance':
      return found
    default:
      return []
  }
}

const STARTERS =
  /^(node|python3?|ruby|sh|bash|deno run|go run|cargo run|\.\/[\w./-]+|make|npm (test|run)|npx|pytest)(\s|$)/

/** A command quoted in the goal, as in: running `python3 tally.py empty.csv` fails. The first file that it names must exist. */
function reproduction({ goal, paths, kind }: EndInput): EndCheck | null {
  if (!['bug', 'failing-test', 'security'].includes(kind)) return null
  const known = new Set(paths)
  const command = goal.quoted.find(text => {
    if (!STARTERS.test(text) || /[;&|<>`$\n]/.test(text)) return false
    const named = text.split(/\s+/).filter(word => /^[\w./-]+\.\w+$/.test(word) || word.startsWith('./'))
    const [script] = named
    return script !== undefined && known.has(script.replace(/^\.\//, ''))
  })
  return command === undefined ? null : { script: command, text: `${command} succeeds` }
}

function testsPass({ toolchain: { commands } }: EndInput): readonly EndCheck[] {
  const { test } = commands
  return test?.exists === true ? [{ script: shellLine(test.run), text: 'all tests pass' }] : []
}

function documented({ goal, paths, texts }: EndInput): readonly EndCheck[] {
  const page = docsPage({ goal, paths })
  if (page === null || isInSource({ goal, paths, texts })) return []
  const text = texts.get(page) ?? ''
  const subjects = [...goal.symbols, ...goal.quoted].filter(name => !goal.files.includes(name))
  const missing = [...new Set(subjects)].filter(name => name.length > 2 && !text.includes(name)).slice(0, 3)
  return missing.map(name => ({
    script: `grep -qF -e ${shellQuoted(name)} ${shellQuoted(page)}`,
    text: `${page} speaks of ${name}`,
  }))
}

export const routeIn = ({ text }: Pick<GoalWords, 'text'>): string | null =>
  /(?:\b(?:GET|POST|PUT|PATCH|DELETE)\s+|[\s`'"(])(\/[a-z][\w/:{}.-]*[\w}])/i.exec(text)?.[1] ?? null

function routed(input: EndInput): readonly EndCheck[] {
  const route = routeIn(input.goal)
  return route === null ? [] : holdsAfterwards(input, route)
}

/** "Add a `retryOn` option" introduces the name; "support a custom `AbortSignal`" and "add support for `URL`" do not. */
export const isIntroduced = ({ wanted }: GoalWords, name: string): boolean => {
  const before = wanted.includes(name) ? wanted.slice(0, wanted.indexOf(name)) : ''
  return MAKES.test(before) || foreignWish(before)?.wish === 'add'
}
const MAKES =
  /\b(?:add|introduc|creat|implement|provid|expos|new|named|called|export)\w*\b(?:(?!\b(?:support|for|to|in|of|from|when|if)\b)[^.,;`])*[`'"]?$/i

/** Quoted names that do not occur in the repository yet. */
function introduced(input: EndInput): readonly EndCheck[] {
  const { goal } = input
  // Unquoted, only names that cannot be prose: `constructNow`, `Command.Walk()`.
  const plain = goal.symbols.filter(
    name => /^[a-z]+[A-Z]|\.|::/.test(name) && goal.wanted.includes(name) && !/^--/.test(name),
  )
  const names = [...goal.quoted, ...plain]
    .filter(name => /^(--)?[A-Za-z_$][\w$.:-]*(\(\))?$/.test(name) && isIntroduced(goal, name))
    .map(name => (/\.|::/.test(name) ? `${name.replace('()', '').split(/\.|::/).at(-1)}(` : name.replace('()', '')))
  const [first] = names.filter(name => name.length > 2)
  return first === undefined ? [] : holdsAfterwards(input, first)
}

function holdsAfterwards({ paths, texts }: EndInput, text: string): readonly EndCheck[] {
  const sources = paths.filter(path => roleOf(path) === 'source' && !isMetadata(path) && !path.startsWith('.'))
  if (sources.length === 0 || sources.some(path => texts.get(path)?.includes(text) === true)) return []
  const tops = [...new Set(sources.map(path => (path.includes('/') ? path.split('/')[0]! : path)))].slice(0, 20)
  return [
    {
      script: `grep -rqIF -e ${shellQuoted(text)} ${tops.map(shellQuoted).join(' ')}`,
      text: `the source has ${text.replace(/\($/, '')}`,
    },
  ]
}

/** Files written as a path in the goal that do not exist yet; `Node.js` is not one, nor is `[a.c]`, a piece of code. */
export function newFiles({ goal, paths }: Pick<EndInput, 'goal' | 'paths'>): readonly string[] {
  const isKnown = (file: string): boolean => paths.some(path => path === file || path.endsWith(`/${file}`))
  const isPath = (file: string): boolean => /^\w[\w./-]*$/.test(file) && !file.includes('..') && !PRODUCT.test(file)
  const prose = goal.quoted
    .reduce((text, one) => (IS_CODE.test(one) ? text.replaceAll(one, ' ') : text), goal.text)
    .replace(/\[[^\]\n]*\]|\{[^}\n]*\}/g, ' ')
  const isWritten = (file: string): boolean =>
    file.includes('/') ||
    new RegExp(`(?<![\\w.$@<=]|\\w\\()${file.replaceAll('.', '\\.')}(?![\\w/({[<>=]|\\.\\w)`).test(prose)
  return goal.files.filter(file => !isKnown(file) && isPath(file) && isWritten(file)).slice(0, 3)
}
/** Quoted text that is more than a name: `a.c = 1`, `[a.c]`, `load(a.js)`. */
const IS_CODE = /[\s()[\]{}<>=;,|$]/
const PRODUCT = /^(?:[A-Z]\w*|node|next|nuxt|vue|react|express|d3|three|deno|bun)\.js$/

/** Existing files named in the goal, without stack traces and mere examples ("like in a.ts"). */
export const namedFiles = ({ files, frames, wanted }: GoalWords, paths: readonly string[]): readonly string[] =>
  files
    .filter(file => !frames.some(frame => frame.file === file))
    .filter(file => !/\b(?:like|see|as|to|described) (?:in )?[`'"]?$/i.test(wanted.slice(0, wanted.indexOf(file))))
    .flatMap(file => paths.filter(path => path === file || path.endsWith(`/${file}`)).slice(0, 2))
    .filter(path => !asksFirst(path))

const created = (input: EndInput): readonly EndCheck[] =>
  newFiles(input).map(file => ({ script: `test -s ${shellQuoted(file)}`, text: `${file} is there` }))

export const shellLine = (run: readonly string[]): string => run.map(shellQuoted).join(' ')
