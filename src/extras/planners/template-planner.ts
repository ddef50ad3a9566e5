// The planner that fills a template: parameters come from the goal and the repository; unknown ones are asked for, or named in
// the failure.

import type { Json, JsonObject } from '../../domain/json.ts'
import { suggest } from '../../domain/phrases.ts'
import type { PlanDefinition } from '../../domain/plan.ts'
import { gatedImpact, IMPACT_WORDS } from '../../domain/plan-rules/impact.ts'
import type { Template } from '../templates/document.ts'
import { instantiate } from '../templates/instantiate.ts'
import { exampleOf, type Parameter, type Problem } from '../templates/parameters.ts'
import { readTemplateFile, shelfWith } from '../templates/shelf.ts'
import { oneLine, planName } from './compose-plan.ts'
import { readGoal } from './goal.ts'
import { heuristicPlanner } from './heuristic-planner.ts'
import { type Planner, PlanningFailure, type PlanProposal, type PlanRequest } from './planner.ts'
import { splitGoal } from './split-goal.ts'

/** `folder`: the user's own templates. */
export function templatePlanner({ folder }: { readonly folder: string }): Planner {
  return {
    name: 'template',
    propose: request => propose(folder, request),
    split: async ({ goal }) => splitGoal(goal),
  }
}

async function propose(folder: string, request: PlanRequest): Promise<PlanProposal> {
  const template = await findTemplate(folder, request.template)
  const known = await heuristicPlanner().propose({ goal: request.goal, repository: request.repository })
  const paths = (await request.repository.files()).map(({ path }) => path)
  const found = valuesFor(template.parameters, { goal: request.goal, known, paths })
  const asked = await askMissing(request, template, found)
  const values = Object.fromEntries([...found, ...asked].map(([name, { value }]) => [name, value]))
  const name = planName(readGoal(request.goal).headline, template.name)
  const made = instantiate(template, values, { name })
  if (!made.ok && made.problems.length > 0) throw missing(template, made.problems)
  if (!made.ok)
    throw failure('template:unusable', `the template '${template.name}' makes no plan: ${made.diagnostics[0]?.message}`)
  const assumptions = [...found, ...asked].map(
    ([parameter, { value, from }]) => `${parameter} is ${oneLine(JSON.stringify(value), 200)} (${from})`,
  )
  const rationale = `The template '${template.name}' was chosen: ${template.about}`
  const { comments = [], repository } = request
  const context = {
    planner: 'template',
    template: template.name,
    values,
    rationale,
    assumptions,
    comments,
    repository: await repository.state(),
  }
  const definition: PlanDefinition = {
    ...made.definition,
    goal: made.definition.goal ?? request.goal,
    extra: { ...made.definition.extra, planning: JSON.parse(JSON.stringify(context)) as JsonObject },
  }
  const [fault] = request.check?.(definition) ?? []
  if (fault !== undefined)
    throw failure('template:unusable', `the plan of the template '${template.name}' cannot work: ${fault}`)
  return {
    planner: 'template',
    definition,
    kind: template.name,
    rationale,
    assumptions,
    risks: [...new Set(definition.tasks.flatMap(({ risks = [] }) => risks))],
    questions: [],
    irreversible: irreversibleIn(definition),
    estimate: {
      workMs: definition.tasks.reduce((sum, { estimateMs = 0 }) => sum + estimateMs, 0),
      cost: null,
    },
    analysis: known.analysis,
    unfollowed: comments.map(comment => ({ comment, why: 'a template is filled, not changed; edit the draft' })),
  }
}

async function findTemplate(folder: string, name: string | undefined): Promise<Template> {
  const all = await shelfWith(folder)
  const names = all.map(one => one.name)
  if (name === undefined) throw failure('template:unknown', 'no template is named', `use one of: ${names.join(', ')}`)
  const shelved = all.find(one => one.name === name)
  if (shelved === undefined) {
    const near = suggest(name.slice(0, 60), names)
    const hint = near === null ? `use one of: ${names.join(', ')}` : `did you mean '${near}'?`
    throw failure('template:unknown', `there is no template '${name}'`, hint)
  }
  const read = await readTemplateFile(shelved)
  if (read.ok) return read.template
  throw new PlanningFailure({
    class: 'logic',
    code: 'template:unusable',
    message: read.message,
    hint: read.hint,
    retryable: false,
  })
}

const failure = (code: string, message: string, hint?: string): PlanningFailure =>
  new PlanningFailure({ class: 'logic', code, message, hint, retryable: false })

const missing = ({ name, parameters }: Template, problems: readonly Problem[]): PlanningFailure => {
  const [first] = problems
  const parameter = parameters.find(one => one.name === first?.parameter)
  const example = parameter === undefined ? 'VALUE' : JSON.stringify(exampleOf(parameter))
  return failure(
    'template:missing',
    `the goal does not say all that the template '${name}' needs: ${problems.map(({ message }) => message).join('; ')}`,
    `say it in the goal, on a line of its own: ${first?.parameter}: ${example}`,
  )
}

interface Known {
  readonly goal: string
  readonly known: Pick<PlanProposal, 'analysis'>
  readonly paths: readonly string[]
}

interface FoundValue {
  readonly value: Json
  readonly from: string
}

type FoundValues = ReadonlyMap<string, FoundValue>

/** Parameter names that stand for the goal itself. */
const GOAL_WORDS =
  /^(goal|objective|feature|symptom|title|summary|question|topic|task|change|incident|problem|what|idea|need)$/i

function valuesFor(parameters: readonly Parameter[], known: Known): FoundValues {
  const found = new Map<string, FoundValue>()
  for (const parameter of parameters) {
    const value = given(parameter, known.goal) ?? detected(parameter, known)
    if (value !== null) found.set(parameter.name, value)
  }
  const isText = ({ type }: Parameter): boolean => type === 'string' || type === 'text'
  const open = parameters.filter(one => one.required && isText(one) && !found.has(one.name))
  const target = open.find(({ name }) => GOAL_WORDS.test(name)) ?? (open.length === 1 ? open[0] : undefined)
  if (target !== undefined) {
    const { text, headline } = readGoal(known.goal)
    found.set(target.name, { value: target.type === 'text' ? text : oneLine(headline, 500), from: 'the goal' })
  }
  return found
}

/** `name: value` on a line of the goal, or `name=value` anywhere in it. */
function given(parameter: Parameter, goal: string): FoundValue | null {
  const name = parameter.name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  const match =
    new RegExp(`^\\s*[-*]?\\s*${name}\\s*[:=]\\s*(.+)$`, 'im').exec(goal) ??
    new RegExp(`(?:^|\\s)${name}=("[^"]*"|'[^']*'|\\S+)`).exec(goal)
  if (match === null) return null
  return { value: fromText(parameter, match[1]!.trim()), from: 'said in the goal' }
}

/** Converts typed text to the parameter's type; the template refuses other types. */
function fromText({ type, of }: Pick<Parameter, 'type' | 'of'>, typed: string): Json {
  const text = /^(["'])(.*)\1$/.exec(typed)?.[2] ?? typed
  switch (type) {
    case 'number':
    case 'integer':
      return Number.isFinite(Number(text)) ? Number(text) : text
    case 'boolean':
      return /^(yes|true|on)$/i.test(text) ? true : /^(no|false|off)$/i.test(text) ? false : text
    case 'list': {
      if (text.startsWith('[')) {
        try {
          return JSON.parse(text) as Json
        } catch {
          return text
        }
      }
      return text.split(/\s*[,;]\s*/).map(item => fromText({ type: of ?? 'string' }, item))
    }
    default:
      return text
  }
}

const FILES_MAX = 5

/** Values for well-known parameter names: existing commands and files, versions in the goal. */
function detected(
  { name, type, required, default: otherwise }: Parameter,
  { goal, known, paths }: Known,
): FoundValue | null {
  const { commands, files, tests } = known.analysis
  const command = /^(test|lint|check|build)_command$/.exec(name)?.[1]
  if (command !== undefined && type === 'list') {
    const found = command === 'test' ? commands.test : command === 'build' ? commands.build : commands.lint
    return found?.exists === true ? { value: [...found.run], from: `found in ${found.from}` } : null
  }
  if (type === 'list' && /^(source|sources|files|write|tests)$/.test(name)) {
    const ranked = (name === 'tests' ? tests : files).slice(0, FILES_MAX).map(({ path }) => path)
    if (ranked.length === 0 || (!required && isThere(otherwise, paths))) return null
    return { value: ranked, from: 'most likely by the goal' }
  }
  const versions = /\bfrom\s+v?(\d[\w.-]*\w)\s+to\s+v?(\d[\w.-]*\w)/i.exec(goal)
  if (name === 'from' || name === 'to') {
    const version = versions?.[name === 'from' ? 1 : 2]
    return version === undefined ? null : { value: version, from: 'named in the goal' }
  }
  if (name === 'package' || name === 'dependency') {
    const named = /\b(?:upgrade|update|bump|downgrade)\s+`?(@?[\w./-]+)`?\s+(?:from|to)\b/i.exec(goal)?.[1]
    return named === undefined ? null : { value: named, from: 'named in the goal' }
  }
  return null
}

function isThere(patterns: Json, paths: readonly string[]): boolean {
  if (!Array.isArray(patterns)) return false
  const starts = (patterns as readonly Json[]).map(pattern => String(pattern).split(/[*?[{]/, 1)[0]!)
  return starts.some(start => paths.some(path => path.startsWith(start)))
}

async function askMissing({ ask }: PlanRequest, { parameters }: Template, found: FoundValues): Promise<FoundValues> {
  const answered = new Map<string, FoundValue>()
  if (ask === undefined) return answered
  for (const parameter of parameters) {
    if (!parameter.required || found.has(parameter.name)) continue
    const text = ((await ask(`${parameter.name}: ${parameter.about}`)) ?? '').trim()
    if (text !== '') answered.set(parameter.name, { value: fromText(parameter, text), from: 'answered' })
  }
  return answered
}

const irreversibleIn = (definition: PlanDefinition): PlanProposal['irreversible'] =>
  definition.tasks.flatMap(task => {
    const impact = gatedImpact(definition, task)
    return impact === null ? [] : [{ task: task.id, why: `it ${IMPACT_WORDS[impact]}` }]
  })
