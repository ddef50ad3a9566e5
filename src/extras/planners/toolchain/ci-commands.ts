// Reads the commands in a repository's CI files: GitHub workflows, GitLab, CircleCI. Only test, lint, type check and build
// commands count. Nothing is run, and unreadable files are ignored.

import { readScript } from '../../../domain/plan-rules/shell-words.ts'
import { readTree, treeValue } from '../../../format/text/yaml.ts'
import type { CiCommand } from '../planner.ts'
import { purposeOf } from './command-purpose.ts'
import { plainCommand } from './plain-command.ts'
import { asScript } from './project-script.ts'

export type NamedCommand = Omit<CiCommand, 'exists' | 'missing'>

const FILES_MAX = 20
const LENGTH_MAX = 100_000
const TOTAL_MAX = 400_000
const COMMANDS_MAX = 60

export const ciFiles = (paths: readonly string[]): readonly string[] =>
  paths
    .filter(path => /^(\.github\/workflows\/[^/]+\.ya?ml|\.gitlab-ci\.ya?ml|\.circleci\/config\.ya?ml)$/.test(path))
    .sort()
    .slice(0, FILES_MAX)

export function ciCommands(
  files: readonly (readonly [path: string, text: string | null])[],
  scripts: Variables,
  manager = 'npm',
): readonly NamedCommand[] {
  const found = new Map<string, NamedCommand>()
  let left = TOTAL_MAX
  for (const [path, text] of files) {
    left -= text?.length ?? 0
    if (left < 0) break
    for (const step of stepsIn(path, text)) {
      for (const command of commandsIn(path, step, scripts, manager)) {
        const key = JSON.stringify([command.run, command.in])
        if (!found.has(key) && found.size < COMMANDS_MAX) found.set(key, command)
      }
    }
  }
  return [...found.values()]
}

interface CiStep {
  readonly job: string
  readonly step: string | null
  readonly script: string
  readonly folder: string | null
  readonly env: Variables
}

type Variables = { readonly [name: string]: string }
type Mapping = { readonly [key: string]: unknown }

function stepsIn(path: string, text: string | null): readonly CiStep[] {
  if (text === null || text.length > LENGTH_MAX) return []
  // Uses the guarded YAML reader of plans. Merge keys are not supported.
  const tree = readTree(text)
  const file = mapping(tree.ok ? treeValue(tree).value : null)
  if (path.startsWith('.github/')) return fromWorkflow(file)
  const jobs = Object.entries(path.startsWith('.circleci/') ? mapping(file.jobs) : file)
  return jobs
    .filter(([name]) => !name.startsWith('.') && !SENDS.test(name))
    .flatMap(([name, value]) => {
      const job = mapping(value)
      const env = variables(file.variables, job.variables, job.environment)
      const all = path.startsWith('.circleci/')
        ? list(job.steps).map(step => mapping(step).run)
        : [list(job.script).flat(3).filter(isText).join('\n') || job.script]
      return all.flatMap((run): readonly CiStep[] => {
        const { name: step, command, working_directory: folder } = mapping(run)
        const script = isText(run) ? run : command
        if (!isText(script)) return []
        return [{ job: name, step: isText(step) ? step : null, script, folder: isText(folder) ? folder : null, env }]
      })
    })
}

/** Jobs that publish do not show what must hold. */
const SENDS = /(^|[^a-z])(deploy\w*|publish\w*|releas\w*|upload|pages)([^a-z]|$)/i

function fromWorkflow(file: Mapping): readonly CiStep[] {
  const events = isText(file.on) ? [file.on] : Array.isArray(file.on) ? file.on : Object.keys(mapping(file.on))
  if (!events.some(event => ['push', 'pull_request', 'merge_group', 'workflow_call'].includes(String(event)))) return []
  return Object.entries(mapping(file.jobs)).flatMap(([id, value]) => {
    const job = mapping(value)
    const named = isText(job.name) && !job.name.includes('${{') ? job.name : id
    if (SENDS.test(id) || SENDS.test(named)) return []
    // A checkout of another repository is another project.
    if (list(job.steps).some(step => isText(mapping(mapping(step).with).repository))) return []
    const matrix = mapping(mapping(job.strategy).matrix)
    return list(job.steps).flatMap((one): readonly CiStep[] => {
      const step = mapping(one)
      const env = variables(file.env, job.env, step.env)
      const used = isText(step.uses)
        ? ACTIONS.find(([action]) => (step.uses as string).startsWith(`${action}@`))
        : undefined
      const script = isText(step.run) ? filledIn(step.run, env, matrix) : used?.[1]
      if (script === undefined) return []
      const folder = [step, job, file]
        .map(at => at['working-directory'] ?? mapping(mapping(at.defaults).run)['working-directory'])
        .find(isText)
      const name = isText(step.name) ? step.name : null
      return [{ job: id === named ? id : `${id} (${named})`, step: name, script, folder: folder ?? null, env }]
    })
  })
}

/** Published actions that stand for a command. */
const ACTIONS: readonly (readonly [action: string, command: string])[] = [
  ['golangci/golangci-lint-action', 'golangci-lint run'],
  ['pre-commit/action', 'pre-commit run --all-files'],
  ['astral-sh/ruff-action', 'ruff check'],
  ['psf/black', 'black --check .'],
  ['crate-ci/typos', 'typos'],
  ['ludeeus/action-shellcheck', 'shellcheck'],
]

/** Substitutes variables of the file and the first matrix value. Commands with other placeholders are dropped. */
const filledIn = (script: string, env: Variables, matrix: Mapping): string =>
  script.replace(/\$\{\{\s*(env|matrix)\.([\w-]+)\s*\}\}/g, (whole, where: string, name: string) => {
    if (where === 'env') return env[name] ?? whole
    const [first] = list(matrix[name])
    return isText(first) || typeof first === 'number' ? String(first) : whole
  })

function commandsIn(
  path: string,
  { job, step, script, folder, env }: CiStep,
  scripts: Variables,
  manager: string,
): readonly NamedCommand[] {
  if (folder !== null && (!/^[\w@][\w@./-]*$/.test(folder) || folder.includes('..'))) return []
  const kept = Object.entries(env)
    .filter(([name, value]) => KEPT.test(name) && !value.includes('://'))
    .slice(0, VARIABLES_MAX)
  return readScript(script).commands.flatMap(({ words, hasInput }): readonly NamedCommand[] => {
    if (hasInput || words.some(({ isOpen }) => isOpen)) return []
    const all = words.map(({ text }) => text)
    const start = all.findIndex(word => !/^[A-Za-z_]\w*=/.test(word))
    if (start < 0) return []
    const plain = plainCommand(all.slice(start))
    const isTop = folder === null || folder === '.'
    const run = [...(isTop ? asScript(plain, scripts, manager) : plain)]
    const manifest = run.indexOf('--manifest-path')
    if (manifest > 0 && /^(\.\/)?Cargo\.toml$/.test(run[manifest + 1] ?? '')) run.splice(manifest, 2)
    const purpose = purposeOf(run, scripts)
    if (purpose === null) return []
    const own = all.slice(0, start).map(word => [word.split('=')[0]!, word.slice(word.indexOf('=') + 1)] as const)
    const variables = Object.fromEntries([...kept, ...own])
    return [
      {
        purpose,
        run,
        from: `${path}, job '${job}'`,
        job,
        step,
        ...(Object.keys(variables).length === 0 ? {} : { env: variables }),
        ...(folder === null || folder === '.' ? {} : { in: folder }),
      },
    ]
  })
}

const VARIABLES_MAX = 8
/** Variables that affect the result of a command. */
const KEPT = /(FLAGS|_ENV|_OPTS|_OPTIONS|_SETTINGS_MODULE|_WARNINGS?|_STRICT)$|^PYTHONPATH$/

/** Variables with constant values; the last one wins. */
const variables = (...all: readonly unknown[]): Variables =>
  Object.fromEntries(
    all.flatMap(one =>
      Object.entries(mapping(one)).flatMap(([name, value]) => {
        const text = isText(value) || typeof value === 'number' || typeof value === 'boolean' ? String(value) : '${{'
        return /^[A-Za-z_]\w*$/.test(name) && !text.includes('${{') && text.length < 200 ? [[name, text] as const] : []
      }),
    ),
  )

const isText = (value: unknown): value is string => typeof value === 'string'
const mapping = (value: unknown): Mapping =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Mapping) : {}
const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value.slice(0, 200) : [])
