// Which coding agent works a plan: the one that is named, the one last used here, the only one installed, or the one a person picks.

import { CliError, type Context, EXIT, printNote, usage } from '../../../cli/command.ts'
import { confirm } from '../../../cli/terminal/confirm.ts'
import { askLine } from '../../../cli/terminal/line-input.ts'
import type { WorkerChoice, WorkerOptions } from '../../../cli/worker-choice.ts'
import { locate } from '../../../compose.ts'
import { type AgentWorker, chooseWorker } from '../../../operations/agents/agent-worker.ts'
import { installHint, type StartableAgent } from '../../../operations/agents/worker-request.ts'
import type { KnownAgent } from '../../../runners/runner.ts'
import { programBehind } from '../../../safety/environment.ts'
import { escapeForTerminal } from '../../../safety/text/terminal.ts'
import { startableAgents } from '../startable-agents.ts'

export const workerFor: WorkerChoice['workerFor'] = async (context, engine, options) => {
  const named = options.with
  const { cwd, environment, settings } = context
  const behind = programBehind(environment)
  if (behind !== null)
    throw new CliError(
      EXIT.refused,
      'not-allowed',
      `this shell belongs to ${behind}, and a coding agent may not start another one`,
      'run it in your own terminal',
    )
  const place = locate({ cwd, environment, dir: settings.dir })
  const agents = await startableAgents({ environment, ...place })
  if (named !== undefined) demandKnown(agents, named)
  const choice = await chooseWorker(engine, agents, named)
  switch (choice.status) {
    case 'chosen':
      if (choice.why === 'used before')
        printNote(context, `${choice.agent} works it, as last time (--with names another)`)
      return withModel(known(agents, choice.agent), options)
    case 'several': {
      const picked = await pick(context, choice.agents)
      return withModel(known(agents, picked), options)
    }
    case 'missing': {
      const { agent } = choice
      if (agent !== null) {
        const missing = known(agents, agent)
        throw new CliError(EXIT.failed, 'agent:missing', `${missing.title} is not installed`, installHint(missing))
      }
      return await withoutAgent(context, agents)
    }
    default:
      return choice satisfies never
  }
}

function demandKnown(agents: readonly StartableAgent[], word: string): void {
  if (agents.some(({ name }) => name === word)) return
  const message =
    word === 'planfold' ? 'Planfold has no agent of its own yet' : `'${word.slice(0, 60)}' is not a known agent`
  throw usage(message, `use one of: ${agents.map(({ name }) => name).join(', ')}`)
}

const known = (agents: readonly StartableAgent[], name: string): StartableAgent =>
  agents.find(one => one.name === name)!

const isAsked = ({ terminal, settings }: Context): boolean => terminal !== null && !settings.json

async function pick(context: Context, names: readonly string[]): Promise<string> {
  const all = names.join(', ')
  if (!isAsked(context)) throw usage(`several agents are installed: ${all}`, `name one: --with ${names[0]}`)
  for (;;) {
    const said = (await askLine(context, `which agent works it (${all})? `))?.trim() ?? ''
    const found = names.find(name => name === said)
    if (found !== undefined) return found
    if (said === '') throw usage('no agent was chosen', `name one: --with ${names[0]}`)
    printNote(context, `'${escapeForTerminal(said.slice(0, 60))}' is none of them`)
  }
}

async function withoutAgent(context: Context, agents: readonly KnownAgent[]): Promise<null> {
  const how = agents.flatMap(({ install }) => (install === null ? [] : `npm install -g ${install}`)).slice(0, SHOWN)
  const hint = `install one, such as: ${how.join(' or ')}; planfold agents lists all`
  if (isAsked(context)) {
    printNote(context, `no coding agent is installed here; ${hint}`)
    if (await confirm(context, 'draft it all the same, and wait until somebody claims the tasks?')) return null
  }
  throw new CliError(EXIT.failed, 'agent:missing', 'no coding agent is installed here', hint)
}

const SHOWN = 3

/** The model that is named; else the default of the settings, where the agent can ask it; else the agent's own. */
function withModel(
  { name: agent, title, model: standard = null, needsModel }: StartableAgent,
  { model }: WorkerOptions,
): AgentWorker {
  if (model !== undefined || !needsModel) return { agent, model: model ?? standard }
  throw usage(
    `${title} has no model of its own, and your settings name none that it can ask`,
    'name one: --model PROVIDER/NAME; planfold models lists those of your settings',
  )
}
