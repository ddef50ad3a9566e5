// The commands that may run before a draft: tests, lint, type checks and builds. What they start is inspected one level deep (the
// script of `npm test`, the recipe of `make test`, the file of `bin/test`): commands that install, publish, deploy or use the
// network are not run.

import { defined } from '../../../domain/json.ts'
import { readScript } from '../../../domain/plan-rules/shell-words.ts'
import { findToolchain } from '../found-commands.ts'
import type { LookedCommand } from '../look-result.ts'
import type { FoundCommand, RepositoryView } from '../planner.ts'
import { type CommandPurpose, purposeOf } from './command-purpose.ts'
import { scriptsOf } from './node.ts'
import { workOf } from './project-script.ts'
import { recipeOf, targetOf } from './recipes.ts'

export interface Lookable extends Pick<LookedCommand, 'run' | 'env' | 'in' | 'purpose'> {
  /** Why it must not run; null if it may. */
  readonly refused: string | null
}

export interface LookableCommands {
  readonly commands: readonly Lookable[]
  /** Why commands that were found cannot start here: `'bundle' is not installed`. */
  readonly missing: readonly string[]
  /** Scripts the commands run: naming one in an error does not mean it is wrong. */
  readonly tools: readonly string[]
}

type Known = FoundCommand & Pick<LookedCommand, 'env' | 'in' | 'purpose'>

const COMMANDS_MAX = 8
/** The slowest comes last, so that the others get their time. */
const ORDER: readonly CommandPurpose[] = ['lint', 'types', 'build', 'test']

export async function commandsToLookAt(repository: RepositoryView): Promise<LookableCommands> {
  const { commands: found, installation, tools } = await findToolchain(repository)
  // Its program is there only after the installation.
  const commands =
    installation?.test === undefined
      ? found
      : { ...found, test: { ...installation.test, exists: false, missing: installation.why } }
  const own = ORDER.flatMap(purpose => (commands[purpose] === null ? [] : [{ ...commands[purpose], purpose }]))
  const [manifest = null] = await repository.read(['package.json'])
  const scripts = scriptsOf(manifest)
  const known: readonly Known[] = [...own, ...commands.ci]
  const all = new Map<string, Known>()
  for (const one of known) {
    if (!one.exists) continue
    const work = `${one.in ?? ''} ${workOf(one.run, one.in === undefined ? scripts : {})}`
    const before = all.get(work)
    // With the variables of CI it is stricter, and no other work.
    if (before === undefined || (before.env === undefined && one.run.join(' ') === before.run.join(' ')))
      all.set(work, one)
  }
  const chosen = [...all.values()]
    .sort((a, b) => ORDER.indexOf(a.purpose) - ORDER.indexOf(b.purpose))
    .slice(0, COMMANDS_MAX)
  const lookable = await Promise.all(
    chosen.map(async ({ run, env, in: folder, purpose }): Promise<Lookable> => {
      const where = defined({ env, in: folder })
      return { run, purpose, ...where, refused: await refusalOf(repository, run, folder ?? '') }
    }),
  )
  const missing = known.filter(({ exists }) => !exists).flatMap(one => one.missing ?? [])
  return { commands: lookable, missing: [...new Set(missing)], tools }
}

async function refusalOf(repository: RepositoryView, run: readonly string[], folder: string): Promise<string | null> {
  const at = (file: string): string => (folder === '' ? file : `${folder}/${file}`)
  const [manifest = null] = await repository.read([at('package.json')])
  const scripts = scriptsOf(manifest)
  if (purposeOf(run, scripts) === null) return 'it is not known to test, lint, check types or build'
  const started = await startedBy(repository, run, scripts, at)
  return faultIn(run) ?? started.map(faultInScript).find(fault => fault !== null) ?? null
}

/** The scripts it runs, if they can be read. */
async function startedBy(
  repository: RepositoryView,
  run: readonly string[],
  scripts: { readonly [name: string]: string },
  at: (file: string) => string,
): Promise<readonly string[]> {
  const [program = '', ...rest] = run
  const name = rest.find(word => !word.startsWith('-') && word !== 'run' && word !== 'run-script') ?? ''
  if (/^(npm|pnpm|yarn|bun)$/.test(program))
    return [`pre${name}`, name, `post${name}`].flatMap(one => scripts[one] ?? [])
  if (/^(g?make|just)$/.test(program)) {
    const texts = await repository.read(['Makefile', 'makefile', 'GNUmakefile', 'justfile', 'Justfile'].map(at))
    const target = targetOf(run)
    return target === undefined ? [] : texts.flatMap(text => (text === null ? [] : recipeOf(text, target)))
  }
  const file = /^(sh|bash)$/.test(program) ? rest[0] : program.includes('/') ? program : undefined
  const [text = null] = file === undefined ? [] : await repository.read([at(file.replace(/^\.\//, ''))])
  return text === null ? [] : [text]
}

function faultInScript(text: string): string | null {
  const { commands, inner } = readScript(text)
  for (const { words } of commands) {
    const fault = faultIn(words.map(one => one.text))
    if (fault !== null) return fault
  }
  return inner.map(faultInScript).find(fault => fault !== null) ?? null
}

const MANAGERS =
  /^(npm|pnpm|yarn|bun|pip3?|pipx|uv|poetry|pdm|pipenv|bundle|gem|cargo|go|composer|mix|dotnet|apt(-get)?|apk|dnf|yum|brew|conda|mamba)$/
const INSTALLS = /^(install|ci|i|add|get|sync|update|upgrade|restore|deps\.get)$/
const SENDS = /^(publish|deploy|release|upload|push|login)([:._-]|$)/
const REACHES =
  /^(curl|wget|ssh|scp|sftp|rsync|docker|podman|kubectl|helm|terraform|pulumi|aws|gcloud|az|heroku|vercel|netlify|fly|flyctl|wrangler|sudo|su|doas|twine|semantic-release|gh|glab|tox|nox|pre-commit|psql|mysql)$/

const STARTS =
  /^(python[\d.]*|npx|bunx|uvx|env|time|exec|command|nice|nohup|xvfb-run|run|npm|pnpm|yarn|uv|poetry|pdm|hatch|bundle)$/

function faultIn(words: readonly string[]): string | null {
  const [program = '', ...rest] = words
    .filter(word => !/^\w+=/.test(word))
    .map((word, at) => (at === 0 ? (word.split('/').at(-1) ?? '') : word))
  const name = rest.find(word => !word.startsWith('-'))
  const says = `it runs \`${words.join(' ').slice(0, 60)}\``
  if (REACHES.test(program) || (MANAGERS.test(program) && name !== undefined && INSTALLS.test(name))) return says
  if (program === 'pip' || rest.some(word => SENDS.test(word)) || SENDS.test(program)) return says
  if (program === 'yarn' && rest.length === 0) return says
  // `python -m pip install`, `npx tox`: the inner command is judged as well.
  const inner = rest.findIndex(word => !word.startsWith('-'))
  return inner >= 0 && STARTS.test(program) ? faultIn(rest.slice(inner)) : null
}
