// Goals about settings, builds and CI: the files that contain the setting today and form the scope, and a search that verifies
// the change. The project's tests do not cover what only CI runs.

import { shellQuoted } from '../../../domain/plan-rules/shell-words.ts'
import { newFiles } from '../end-checks.ts'
import type { GoalWords } from '../goal.ts'
import type { RankedFile } from '../planner.ts'
import { roleOf } from '../ranking/file-role.ts'
import { ACTION, LANGUAGE } from '../sentence/kind-evidence.ts'
import { hideQuotes, mainClause, objectOf, sentencesOf, wishOf } from '../sentence/main-verb.ts'
import { SETTINGS } from '../toolchain/dependency.ts'
import type { WorkStep } from '../work-steps.ts'
import type { EndCheck } from './end-check.ts'

export interface SettingsGoal {
  readonly files: readonly string[]
  readonly ends: readonly EndCheck[]
  /** Not covered by the tests. */
  readonly isCi: boolean
}

interface SettingsInput {
  readonly goal: GoalWords
  readonly paths: readonly string[]
  readonly texts: ReadonlyMap<string, string>
  readonly ranked: readonly RankedFile[]
  readonly not: readonly string[]
}

const CI_FILE =
  /^\.github\/(?:workflows|actions)\/|^\.github\/dependabot\.ya?ml$|^(?:\.gitlab-ci|\.travis|\.cirrus|appveyor|azure-pipelines[\w.-]*)\.ya?ml$|^\.(?:circleci|buildkite)\//
const OF_LINTER =
  /^(?:\.golangci\.\w+|\.?eslint[\w.]*|biome\.jsonc?|\.rubocop\w*\.yml|\.flake8|\.?ruff\.toml|\.prettier\w*|\.pre-commit-config\.yaml|\.?clippy\.toml|\.pylintrc|\.gitignore|\.editorconfig)$/
const OF_CI = /\b(?:ci|workflows?|(?:github|gh) actions?|matrix|pipelines?|jobs?|dependabot)\b/i
const LOCK = /^(?:[\w-]+[-.]lock(?:\.\w+)?|pnpm-lock\.yaml|go\.sum)$/
const FILES_MAX = 25
const LIKELY_MAX = 3

export function settingsGoal(input: SettingsInput): SettingsGoal {
  const { paths, not } = input
  const { files, ends } = actionOf(input) ?? versionOf(input) ?? removedWorkflow(input) ?? named(input)
  const written = [...new Set(files)].filter(path => !not.includes(path)).slice(0, FILES_MAX)
  const isCi =
    written.length > 0 && written.every(path => CI_FILE.test(path) || OF_LINTER.test(path) || !paths.includes(path))
  return { files: written, ends, isCi }
}

/** No test steps and no installation, since CI files do not affect the suite. */
export const settingsSteps = (steps: readonly WorkStep[], { isCi }: SettingsGoal): readonly WorkStep[] =>
  steps.map(step => (isCi && step.kind === 'chore' ? { ...step, kind: 'ci', proof: 'end' } : step))

type Found = Pick<SettingsGoal, 'files' | 'ends'>

function actionOf({ goal, texts }: SettingsInput): Found | null {
  const { 1: name, 2: version } = ACTION.exec(goal.wanted) ?? ACTION_FIRST.exec(goal.wanted) ?? []
  const files = name === undefined ? [] : holding(texts, new RegExp(`\\b${name}@`))
  if (files.length === 0) return null
  const uses = `grep -rhE -e 'uses: *${name}@' .github`
  const script = `${uses} | grep -q . && ! ${uses} | grep -vF '@${version}'`
  return { files, ends: [{ script, text: `${name} is used as ${version}` }] }
}

/** `update to actions/checkout v6`. */
const ACTION_FIRST = /\bto ([\w-]+\/[\w-]+)[@ ](v\d[\w.]*)/i

const holding = (texts: SettingsInput['texts'], pattern: RegExp): readonly string[] =>
  [...texts].filter(([path, text]) => roleOf(path) !== 'test' && pattern.test(text)).map(([path]) => path)

/** A language version to add, drop or raise: `add Python 3.15 to CI`, `drop Node 18`, `from Ruby 3 to 4`. */
function versionOf(input: SettingsInput): Found | null {
  const { goal, paths, texts } = input
  const spelled = new RegExp(`\\b(${LANGUAGE})\\b`, 'i').exec(goal.wanted)?.[1]?.toLowerCase()
  const language = spelled === undefined ? undefined : (NAMES[spelled] ?? spelled)
  const dropped = droppedVersion(goal)
  const version = dropped ?? wantedVersion(goal)
  const isAny = version === null && language !== undefined && /\bversions?\b/i.test(goal.wanted)
  if (isAny || version === null || (language === undefined && dropped === null))
    return isAny ? { files: holding(texts, saysVersion(language)).filter(isVersioned), ends: [] } : null
  const pattern = versionPattern(version, language ?? 'version')
  const saying = holding(texts, new RegExp(pattern, 'im')).filter(isVersioned)
  if (dropped !== null) {
    const [major = '', minor] = dropped.split('.')
    const beside =
      minor === undefined ? [] : holding(texts, new RegExp(`(?<![\\d.])${major}(?:\\.|, )${minor}(?![\\d.])`))
    const called = paths.filter(path => path.includes(dropped.replace('.', '_')))
    const files = [...saying, ...called, ...beside, ...paths.filter(path => saying.length > 0 && LOCK.test(path))]
    const search = `! grep -niE -e ${shellQuoted(pattern)} ${saying.map(shellQuoted).join(' ')}`
    const ends = saying.length === 0 ? [] : [{ script: search, text: `no setting has ${version} any more` }]
    return { files: files.length > 0 ? files : settingsOf(paths), ends }
  }
  const isOnlyCi = OF_CI.test(wantedOf(goal))
  const saysIt = holding(texts, saysVersion(language!))
  const tested = saysIt.filter(path => CI_FILE.test(path) && /\bmatrix\b/.test(texts.get(path)!))
  const files = saysIt.filter(path =>
    CI_FILE.test(path)
      ? tested.length === 0 || tested.includes(path) || rankOf(input, path) === 0
      : isVersioned(path) && (!isOnlyCi || LISTS.test(path)),
  )
  const before = /\bfrom v?(\d+\.\d+)/i.exec(goal.wanted)?.[1]
  const old = before === undefined ? [] : holding(texts, new RegExp(versionPattern(before, language!), 'im'))
  const where = [...new Set([...files, ...old])].sort((a, b) => rankOf(input, a) - rankOf(input, b))
  if (where.length === 0) return null
  const ends = saying.some(path => where.includes(path))
    ? []
    : [
        {
          script: `grep -qiE -e ${shellQuoted(pattern)} ${where.map(shellQuoted).join(' ')}`,
          text: `the settings have ${version}`,
        },
      ]
  return { files: where, ends }
}

const saysVersion = (language: string): RegExp =>
  new RegExp(`(?:${language}|${SHORT[language] ?? language})[^\\n\\d]{0,40}\\d`, 'i')
const isVersioned = (path: string): boolean => SETTINGS.test(path) || CI_FILE.test(path)

/** Files that list tested versions, beside CI. */
const LISTS = /^(?:tox\.ini|noxfile\.py|pyproject\.toml|setup\.(?:py|cfg))$/
const NAMES: { readonly [said: string]: string } = {
  'node.js': 'node',
  nodejs: 'node',
  golang: 'go',
  jdk: 'java',
  msrv: 'rust',
}
const SHORT: { readonly [language: string]: string } = { python: 'py', rust: 'msrv', java: 'jdk' }

/** For `grep -iE`. A bare integer must follow the language or be in a list. */
function versionPattern(version: string, language: string): string {
  const escaped = version.replaceAll('.', '\\.')
  if (version.includes('.'))
    return `(^|[^0-9.])${escaped}([^0-9.]|$)|[a-z]_?${version.replace('.', language === 'python' ? '' : '_')}([^0-9]|$)`
  const end = `${escaped}(\\.[0-9x]+)*['"]?`
  return `${language}[^#]*[^0-9.]${end}([^0-9.]|$)|^[ ]*- *['"]?${end}[ ]*$|[[,] *['"]?${end} *[],]`
}

const settingsOf = (paths: readonly string[]): readonly string[] =>
  paths.filter(path => SETTINGS.test(path) || LOCK.test(path))

export const droppedVersion = ({ wanted }: Pick<GoalWords, 'wanted'>): string | null =>
  /\b(?:drop|remov\w*|end)\b.*?\b(\d+\.\d+)\b(?!\.\d)/i.exec(wanted)?.[1] ??
  new RegExp(`\\b(?:drop|remov\\w*|end)\\b.*?\\b(?:${LANGUAGE})(?: versions?)? v?(\\d+)\\b(?!\\.\\d)`, 'i').exec(
    wanted,
  )?.[1] ??
  null

/** The version after "to", else after the language. */
const wantedVersion = ({ wanted }: GoalWords): string | null =>
  new RegExp(`\\b(?:${LANGUAGE})\\b.*\\bto v?(\\d+(?:\\.\\d+)?)\\b`, 'i').exec(wanted)?.[1] ??
  new RegExp(`\\b(?:${LANGUAGE})(?: versions?)? v?(\\d+(?:\\.\\d+)?)\\b`, 'i').exec(wanted)?.[1] ??
  null

const rankOf = ({ ranked }: SettingsInput, path: string): number => {
  const at = ranked.findIndex(one => one.path === path)
  return at < 0 ? ranked.length : at
}

/** `remove the CodeQL workflow`: the only file with that name. */
function removedWorkflow({ goal, paths }: SettingsInput): Found | null {
  const { verb } = mainClause(sentencesOf(goal.wanted)[0] ?? '')
  if (wishOf(verb) !== 'remove' || !/\b(?:workflow|action|pipeline)\b/i.test(goal.wanted)) return null
  const found = paths.filter(
    path => CI_FILE.test(path) && subjects(goal).some(({ stem }) => path.toLowerCase().includes(stem)),
  )
  const [file] = found
  if (file === undefined || found.length > 1) return null
  return { files: [file], ends: [{ script: `test ! -e ${shellQuoted(file)}`, text: `${file} is gone` }] }
}

/** Words that could mean any setting. */
const GENERIC = new Set(
  'ci workflow workflows job jobs step steps matrix github action actions build builds test tests testing lint linting check checks config configuration setting settings rule rules field fields option options support version versions file files pipeline pipelines unused minimum dependabot renovate codeowners dockerfile makefile editorconfig gitignore package json manifest'.split(
    ' ',
  ),
)

/** The object of the verb, without such words. */
function subjects(goal: GoalWords): GoalWords['terms'] {
  const whole = wantedOf(goal)
  const object = (
    wishOf(mainClause(sentencesOf(goal.wanted)[0] ?? '').verb) === null ? whole : objectOf(whole)
  ).toLowerCase()
  return goal.terms.filter(({ word, stem }) => !GENERIC.has(word.toLowerCase()) && object.includes(stem))
}

/** Without a `ci:` prefix and the verb. */
const wantedOf = ({ wanted }: GoalWords): string => mainClause(hideQuotes(sentencesOf(wanted)[0] ?? '')).rest

/** The files the goal names, else CI files if it mentions CI, else settings that contain its words. */
function named(input: SettingsInput): Found {
  const { goal, paths, texts, ranked } = input
  const about = subjects(goal)
  const own = [...goal.files.filter(file => paths.includes(file)), ...newFiles(input)]
  const likely = ranked.filter(({ reason }) => !reason.startsWith('weak guess')).map(({ path }) => path)
  const isSetting = (path: string): boolean => roleOf(path) === 'config' || SETTINGS.test(path) || CI_FILE.test(path)
  const words = about.map(({ stem, whole }) => new RegExp(`(?<![a-z])${stem}${whole ? '(?![a-z])' : ''}`, 'i'))
  const called = paths.filter(path => !path.includes('/') && isSetting(path) && words.some(word => word.test(path)))
  const count = (path: string): number => words.filter(word => word.test(texts.get(path) ?? '')).length
  const most = Math.max(1, ...[...texts.keys()].filter(isSetting).map(count))
  const matching = [...texts.keys()].filter(path => isSetting(path) && count(path) === most)
  const isTool = matching.some(path => !CI_FILE.test(path))
  const isCi = OF_CI.test(wantedOf(goal)) || (/^ci\b.*:/i.test(goal.headline) && !isTool)
  const fits = (path: string): boolean => (isCi ? CI_FILE.test(path) : isSetting(path))
  const inCi = paths.filter(path => isCi && CI_FILE.test(path))
  const namedCi = inCi.filter(path => words.some(word => word.test(path.slice(path.lastIndexOf('/')))))
  const mostCi = Math.max(1, ...inCi.map(count))
  const holdingCi = inCi.filter(path => count(path) === mostCi)
  const fitting = namedCi.length > 0 ? namedCi : holdingCi.length > 0 ? holdingCi : likely.filter(fits)
  const isAll = isCi && /\b(?:all|every|each|workflows|actions)\b/i.test(goal.wanted)
  const best = isAll
    ? paths.filter(path => CI_FILE.test(path))
    : (isCi && fitting.length > 0) || called.length + matching.length === 0
      ? fitting.slice(0, LIKELY_MAX)
      : called.length > 0 && matching.length === 0
        ? called
        : [...new Set([...called, ...matching])].slice(0, LIKELY_MAX)
  const opened = own.length > 0 ? own : best
  const isNew = isCi && /\bworkflow\b/i.test(goal.wanted) && wishOf(mainClause(goal.wanted).verb) === 'add'
  const files = [...opened, ...(isNew ? ['.github/workflows/**'] : [])]
  const found = files.length > 0 ? files : isCi ? paths.filter(path => CI_FILE.test(path)) : settingsOf(paths)
  return { files: found, ends: wordAdded(input, found, about) }
}

/** `add staticcheck to CI`: a word or setting names that do not occur in these files yet. */
function wordAdded({ goal, texts }: SettingsInput, files: readonly string[], about: GoalWords['terms']): Found['ends'] {
  const { verb } = mainClause(sentencesOf(goal.wanted)[0] ?? '')
  const known = files.filter(path => texts.has(path))
  const [subject, ...others] = about
  const holds = (path: string): boolean =>
    subject !== undefined && texts.get(path)!.toLowerCase().includes(subject.stem)
  if (
    wishOf(verb) === 'remove' &&
    subject !== undefined &&
    others.length === 0 &&
    known.length > 0 &&
    known.every(holds)
  ) {
    const script = `! grep -niF -e ${shellQuoted(subject.stem)} ${known.map(shellQuoted).join(' ')}`
    return [{ script, text: `${known.join(' and ')} has no ${subject.word} any more` }]
  }
  if (known.length === 0 || known.length < files.length || !ADDS.has(verb ?? '')) return []
  const isKey = known.length === 1 && known[0]!.endsWith('.json')
  const named = [...goal.symbols, ...goal.quoted].filter(name => /^\w+$/.test(name))
  const words = named.length > 0 ? named : about.length === 1 ? [isKey ? about[0]!.word : about[0]!.stem] : []
  const wanted = words.map(word => (isKey ? `"${word}"` : word))
  return wanted
    .filter(text => !known.some(path => texts.get(path)!.toLowerCase().includes(text.toLowerCase())))
    .map(text => ({
      script: `grep -qiF -e ${shellQuoted(text)} ${known.map(shellQuoted).join(' ')}`,
      text: `${known.join(' or ')} has ${text}`,
    }))
}

const ADDS = new Set('add enable introduce create use set configure support allow'.split(' '))
