// How it can be told by a command that a goal has been reached: commands that fail today and succeed after a correct change. Only what
// the goal itself says is used; where it says nothing that can be checked, there is none, and the plan asks.

import { asksFirst } from '../domain/plan-rules/instruction-file.ts'
import { shellQuoted } from '../domain/plan-rules/shell-words.ts'
import type { Toolchain } from './commands.ts'
import { docsPage, isInSource } from './docs-page.ts'
import type { GoalWords } from './goal.ts'
import type { GoalKind } from './goal-kind.ts'
import { protectedPaths } from './goal-limits.ts'
import type { FoundCommand } from './planner.ts'
import { isMetadata, languageOf, roleOf } from './ranking/file-role.ts'
import { foreignWish } from './sentence/goal-language.ts'
import { ACTION } from './sentence/kind-evidence.ts'
import { namedDependency, SETTINGS, updated } from './toolchain/dependency.ts'
import { commandLine, namedCommands } from './toolchain/named-commands.ts'

export { namedDependency } from './toolchain/dependency.ts'

export interface EndCheck {
  /** For `sh -eu`. */
  readonly script: string
  /** What it shows when it succeeds. */
  readonly text: string
  /** The command of the repository that it runs. It may succeed already: the goal says that something fails, not what. */
  readonly command?: FoundCommand
}

export interface EndInput {
  readonly goal: GoalWords
  readonly kind: GoalKind
  readonly toolchain: Toolchain
  /** Every path of the repository. */
  readonly paths: readonly string[]
  /** What was read of it. */
  readonly texts: ReadonlyMap<string, string>
  /** Files that are left alone. */
  readonly not: readonly string[]
}

export interface RenameNames {
  readonly old: string
  readonly new: string
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
    case 'chore':
      return [...actionUpdated(input), ...versionDropped(input)]
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

/** A command that the goal quotes, as in: running `python3 tally.py empty.csv` fails. It must only speak of files that are there. */
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

/** The first two names of a goal such as: rename `parse` to `readLine`. */
export function renameNames(goal: GoalWords): RenameNames | null {
  const NAME = '[`\'"“„«]?([A-Za-z_$][\\w$.-]*)(?:\\(\\))?[`\'"”“»]?'
  const NOUN =
    '(?:(?:options?|functions?|methods?|class|flag|parameter|argument|field|property|type|variable|constant|helper|module|command|setting|attribute)\\s+)?'
  const found = new RegExp(`${NAME}\\s+${NOUN}(?:to|into|as|in|zu|en|à|a|→|->|=>)\\s+${NAME}`, 'u').exec(goal.text)
  const [first, second] = found === null ? goal.symbols : [found[1], found[2]]
  if (first === undefined || second === undefined || first === second) return null
  return { old: bare(first), new: bare(second) }
}

/** `utils.is_keyed_tuple` is defined as `is_keyed_tuple`; a last part such as `dump` is too common to stand alone. */
const bare = (name: string): string => {
  const whole = name.replace(/[.-]+$/, '')
  const last = whole.split('.').at(-1)!
  return /[a-z0-9][A-Z]|[^_]_[^_]/.test(last) && !FILE_END.test(whole) ? last : whole
}
const FILE_END = /\.(?:[cm]?[jt]sx?|py|go|rs|rb|java|md|json|ya?ml|toml)$/

/** What nobody searches: other people's code, the record of the past. */
const LEFT_OUT =
  "--exclude-dir=.git --exclude-dir=.planfold --exclude-dir=node_modules --exclude='CHANGE*' --exclude='*.lock' --exclude='*-lock.*' --exclude=go.sum"

/** Does the search for a name look at it? */
export const isSearched = (path: string): boolean =>
  !/(^|\/)(\.git|\.planfold|node_modules)\/|(^|\/)CHANGE[^/]*$|\.lock$|-lock\.\w+$|(^|\/)go\.sum$/.test(path)

function renamed({ goal, texts, not }: EndInput): readonly EndCheck[] {
  const names = renameNames(goal)
  if (names === null || ![...texts.values()].some(text => holdsWord(text, names.old))) return []
  // Files that are left alone keep the old name. `grep` leaves out files by name only, so their lines are taken out behind it.
  const kept = not.filter(path => holdsWord(texts.get(path) ?? '', names.old))
  const occurs = {
    script: `grep -rqIE ${LEFT_OUT} -e ${shellQuoted(wordPattern(names.new))} .`,
    text: `${names.new} occurs`,
  }
  // For code that the goal wants left alone, the old name stays beside the new one.
  if (protectedPaths(goal.limits, kept).some(path => languageOf(path) !== null)) return [occurs]
  const search = `grep -rnIE ${LEFT_OUT} -e ${shellQuoted(wordPattern(names.old))} .`
  const others = kept.map(path => ` -e ${shellQuoted(`^\\./${path.replace(/[.[\]*^$\\]/g, '\\$&')}:`)}`).join('')
  return [
    kept.length === 0
      ? { script: `! ${search}`, text: `${names.old} no longer occurs` }
      : {
          script: `! ${search} | grep -v${others}`,
          text: `${names.old} no longer occurs, except in ${kept.join(', ')}`,
        },
    occurs,
  ]
}

/** The word, for `grep -E`; not where it is part of a longer one, or the name of a file in a path. */
const wordPattern = (word: string): string => `(^|[^[:alnum:]_$/])${word.replace(/[.$]/g, '\\$&')}([^[:alnum:]_$]|$)`

/** Succeeds when the word stands nowhere any more. */
export const goneCheck = (word: string): EndCheck => ({
  script: `! grep -rnIE ${LEFT_OUT} -e ${shellQuoted(wordPattern(word))} .`,
  text: `${word} no longer occurs`,
})

/** The same for a text that was read. */
export const holdsWord = (text: string, word: string): boolean => {
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1))
    if (!/[\w$/]/.test(text[at - 1] ?? '') && !/[\w$]/.test(text[at + word.length] ?? '')) return true
  return false
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

/** "Add a `retryOn` option" makes the name; "support a custom `AbortSignal`" and "add support for `URL`" do not. */
export const isIntroduced = ({ wanted }: GoalWords, name: string): boolean => {
  const before = wanted.includes(name) ? wanted.slice(0, wanted.indexOf(name)) : ''
  return MAKES.test(before) || foreignWish(before)?.wish === 'add'
}
const MAKES =
  /\b(?:add|introduc|creat|implement|provid|expos|new|named|called|export)\w*\b(?:(?!\b(?:support|for|to|in|of|from|when|if)\b)[^.,;`])*[`'"]?$/i

/** Names in quotes that nothing in the repository has yet. */
function introduced(input: EndInput): readonly EndCheck[] {
  const { goal } = input
  // Without quotes only a name that cannot be prose: `constructNow`, `Command.Walk()`.
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

/** Files that the goal names and that are not there yet; `Node.js` is none. */
export function newFiles({ goal, paths }: Pick<EndInput, 'goal' | 'paths'>): readonly string[] {
  const isKnown = (file: string): boolean => paths.some(path => path === file || path.endsWith(`/${file}`))
  const isPath = (file: string): boolean => /^\w[\w./-]*$/.test(file) && !file.includes('..') && !PRODUCT.test(file)
  return goal.files.filter(file => !isKnown(file) && isPath(file)).slice(0, 3)
}
const PRODUCT = /^(?:[A-Z]\w*|node|next|nuxt|vue|react|express|d3|three|deno|bun)\.js$/

/** Files that the goal names and that are there; not those of a stack trace, nor one that only shows the way: "like in a.ts". */
export const namedFiles = ({ files, frames, wanted }: GoalWords, paths: readonly string[]): readonly string[] =>
  files
    .filter(file => !frames.some(frame => frame.file === file))
    .filter(file => !/\b(?:like|see|as|to|described) (?:in )?[`'"]?$/i.test(wanted.slice(0, wanted.indexOf(file))))
    .flatMap(file => paths.filter(path => path === file || path.endsWith(`/${file}`)).slice(0, 2))
    .filter(path => !asksFirst(path))

const created = (input: EndInput): readonly EndCheck[] =>
  newFiles(input).map(file => ({ script: `test -s ${shellQuoted(file)}`, text: `${file} is there` }))

function actionUpdated({ goal, texts }: EndInput): readonly EndCheck[] {
  const [, name, version] = ACTION.exec(goal.wanted) ?? []
  if (![...texts.values()].some(text => text.includes(`${name}@`))) return []
  const uses = `grep -rhE -e 'uses: *${name}@' .github`
  return [
    { script: `${uses} | grep -q . && ! ${uses} | grep -vF '@${version}'`, text: `${name} is used as ${version}` },
  ]
}

/** `drop Python 3.8`: the settings that say it today no longer do. */
function versionDropped({ goal, texts, not }: EndInput): readonly EndCheck[] {
  const version = droppedVersion(goal)
  if (version === null) return []
  const pattern = `(^|[^0-9.])${version.replace('.', '\\.')}([^0-9.]|$)`
  const files = [...texts]
    .filter(([path, text]) => SETTINGS.test(path) && !not.includes(path) && new RegExp(pattern, 'm').test(text))
    .map(([path]) => path)
  if (files.length === 0) return []
  const script = `! grep -nE -e ${shellQuoted(pattern)} ${files.map(shellQuoted).join(' ')}`
  return [{ script, text: `no setting has ${version} any more` }]
}

export const droppedVersion = ({ wanted }: GoalWords): string | null =>
  /\b(?:drop|remov\w*|end)\b.*?\b(\d+\.\d+)\b(?!\.\d)/i.exec(wanted)?.[1] ?? null

export const shellLine = (run: readonly string[]): string => run.map(shellQuoted).join(' ')
