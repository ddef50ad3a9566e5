// The runner of `agent` tasks: each attempt starts a coding agent in the sandbox, with a home of its own and a model behind our
// gateway. It resumes the session of an earlier attempt if there is one. The agent's own report does not decide success: after
// its turn, the criteria of the task are judged as for any task.
//
// find the agent ──▶ home, gateway, plan tools ──▶ start in sandbox ──▶ one turn (ACP, or JSON lines) ──▶ stop everything ──▶
// done | failed

import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { advise, quoted } from '../../domain/hint.ts'
import type { JsonObject } from '../../domain/json.ts'
import { addCost, addUsage } from '../../domain/model-use.ts'
import { agentRequest } from '../../domain/plan-rules/agent-request.ts'
import { errorLine } from '../../domain/recovery/error-line.ts'
import { agentProgram, type Failure } from '../../domain/result.ts'
import { addSpend, askLine, NOTHING_SPENT, spendLine } from '../../domain/views/pages/agent-lines.ts'
import type { GatewayOpened, GatewayRequest } from '../../runners/models.ts'
import { childEnvironment, follow, spawnFailure, startChild, withoutCore } from '../../runners/run/run-runner.ts'
import type {
  AgentTools,
  Attempt,
  ModelReport,
  Outcome,
  ProcessTree,
  Runner,
  RunnerTools,
  Stop,
} from '../../runners/runner.ts'
import { openGate } from '../../safety/files/path-gate.ts'
import { failure } from '../../safety/safety-refusal.ts'
import { beyondOf, sandboxCommand } from '../../safety/sandbox/command-sandbox.ts'
import type { SandboxDoor } from '../../safety/sandbox/sandbox.ts'
import { converse } from './acp-client.ts'
import { agentBrief } from './agent-brief.ts'
import { furnish, openHome, setAside } from './agent-home.ts'
import { AgentLog } from './agent-log.ts'
import { answerIn, reportedOutputs } from './agent-report.ts'
import { AGENT_WIRES, type AgentRow, rowOfCommand } from './agent-settings.ts'
import { spendingOf } from './agent-spending.ts'
import {
  type Chosen,
  filled,
  homeSeen,
  mapValues,
  modelOf,
  modeOf,
  PLAN_PORT,
  planServer,
  startOf,
  withLogin,
} from './agent-start.ts'
import { agentMissing, findAgent, resolveProgram } from './find-agent.ts'
import { LineReader } from './headless-output.ts'
import { knownAgents, unknownAgent } from './known-agents.ts'
import { openLogin } from './login/copied-login.ts'
import { judgePermission } from './permission-request.ts'
import { reportedOutput } from './reported-use.ts'

export interface AgentRunnerOptions {
  readonly tree: ProcessTree
  readonly openGateway: (request: GatewayRequest) => Promise<GatewayOpened>
  /** Opens plan_read and plan_write for one attempt; without it, the agent has none. */
  readonly openPlanTools?: (request: PlanToolsRequest) => Promise<PlanToolsServer>
  readonly version: string
}

export interface PlanToolsRequest {
  readonly attempt: Pick<Attempt, 'plan' | 'task' | 'visit' | 'attempt'>
  readonly agent: string
  /** Created for the socket, which is its only content. */
  readonly folder: string
}

/** A server on a Unix socket; clients send the token in the first line. */
export interface PlanToolsServer {
  readonly socket: string
  readonly token: string
  close(): Promise<void>
}

export function agentRunner(options: AgentRunnerOptions): Runner {
  return {
    action: 'agent',
    needs: ['agent'],
    preview: async attempt => ({ text: previewOf(attempt) }),
    async attempt(attempt, tools, stop) {
      const chosen = await choose(attempt, tools)
      if ('class' in chosen) return failed(chosen)
      if (stop.aborted) return { type: 'interrupted' }
      const scratch = mkdtempSync(join(tmpdir(), 'pfa-'))
      try {
        return await answered(chosen.request.answer, again =>
          carryOut(options, attempt, tools, stop, chosen, scratch, again),
        )
      } finally {
        rmSync(scratch, { recursive: true, force: true })
      }
    },
  }
}

/** An answer of another shape is repaired once, in the same conversation where the agent can resume it. */
async function answered(
  shape: JsonObject | null,
  turn: (refused: string | undefined) => Promise<Outcome>,
): Promise<Outcome> {
  const first = await turn(undefined)
  if (shape === null || first.type !== 'done') return first
  const answer = answerIn(shape, textIn(first))
  if (answer.ok) return { ...first, outputs: { ...answer.value, ...first.outputs } }
  const second = await turn(answer.why)
  const model = reported([...reportsIn(first), ...reportsIn(second)])
  if (second.type !== 'done') return { ...second, ...model }
  const repaired = answerIn(shape, textIn(second))
  if (repaired.ok) return { ...second, ...model, outputs: { ...repaired.value, ...second.outputs } }
  return { type: 'failed', failure: unanswered(repaired.why), ...model }
}

const textIn = ({ outputs }: Extract<Outcome, { readonly type: 'done' }>): string =>
  typeof outputs?.text === 'string' ? outputs.text : ''

const reportsIn = (outcome: Outcome): readonly ModelReport[] =>
  'model' in outcome && outcome.model !== undefined ? [outcome.model] : []

const unanswered = (why: string): Failure => ({
  class: 'logic',
  code: 'agent:answer',
  message: `it did not end with the answer that was asked for, also when it was asked again (${why})`,
  hint: 'ask for less under `answer`, or let another agent do it',
  retryable: true,
})

const failed = (failure: Failure): Outcome => ({ type: 'failed', failure, begun: false })

async function choose(attempt: Attempt, tools: RunnerTools): Promise<Chosen | Failure> {
  const request = agentRequest(attempt.action)
  if (request === null || (attempt.definition.instruction ?? '').trim() === '')
    return failure(
      'logic',
      'there is nothing that an agent could be told to do',
      'see the plan: `agent` and `instruction`',
    )
  if (request.command !== null) {
    const row = rowOfCommand(request.command, request.protocol)
    const found = resolveProgram(tools, row.name)
    if (found === null) return failure('logic', `the agent ${JSON.stringify(row.name)} is not installed`, ON_PATH)
    return { name: row.name, request, row, protocol: request.protocol === 'acp' ? 'acp' : 'headless', found }
  }
  const use = request.use ?? tools.agent?.use
  if (use === undefined)
    return failure(
      'logic',
      'the task names no agent, and the plan has no default',
      'write `agent: claude`, or `defaults: { agent: claude }`',
    )
  const known = await knownAgents(tools)
  const row = known.rows.find(({ name }) => name === use)
  if (row === undefined) {
    const { message, hint } = unknownAgent(use, known)
    return failure('logic', message, hint)
  }
  const { acp, headless } = findAgent(tools, row)
  if (acp !== null) return { name: use, request, row, protocol: 'acp', found: acp }
  if (headless !== null) return { name: use, request, row, protocol: 'headless', found: headless }
  const { message, hint } = agentMissing(row)
  return failure('logic', message, `${hint}; ${ON_PATH}`)
}

const ON_PATH = 'its program must be on PATH, outside of the workspace'

/** Grace period for the agent to exit after its turn. */
const LEAVE_MS = 500

async function carryOut(
  options: AgentRunnerOptions,
  attempt: Attempt,
  tools: RunnerTools,
  stop: Stop,
  chosen: Chosen,
  place: string,
  again: string | undefined,
): Promise<Outcome> {
  const scratch = join(place, again === undefined ? 'turn' : 'again')
  mkdirSync(scratch)
  const { request } = chosen
  const secrets = Object.values(tools.secrets ?? {})
  const agent = tools.agent ?? NO_TOOLS
  if (agent.login?.ok === false) return failed(agent.login.failure)
  const login = agent.login?.value ?? null
  const environment = childEnvironment(attempt, tools)
  if (!environment.ok) return failed(environment.failure)
  const isBoxed = tools.sandbox !== undefined && (tools.sandbox.isRequired || (await tools.sandbox.room.check()).ok)
  // Without a sandbox, the agent could copy the login elsewhere.
  if (!isBoxed && login !== null) return failed(UNBOXED_LOGIN)
  if (login !== null && request.models !== null) return failed(UNLIMITED_LOGIN)
  if (!isBoxed) {
    const about = { what: `work without a sandbox, with your permissions (${chosen.name})`, about: 'no sandbox' }
    const answer = await agent.permit(about, stop.signal)
    if (stop.aborted || answer === 'over') return { type: 'interrupted' }
    if (answer === 'late')
      return { type: 'interrupted', begun: false, reason: `nobody has answered yet: ${about.what}` }
    if (answer !== 'yes') return failed(UNBOXED)
  }
  const row = login === null ? chosen.row : withLogin(chosen.row, request)
  if ('class' in row) return failed(row)
  const model = modelOf(request, row)
  if ('class' in model) return failed(model)
  const home = openHome(agent.place ?? tools.stateDir, attempt)
  const loginStart = login === null ? null : await openLogin(login, home, tools, stop)
  if (loginStart !== null && 'outcome' in loginStart) return loginStart.outcome
  const loginUse = loginStart?.use ?? null
  const log = new AgentLog(tools.log, [...secrets, ...(loginUse?.secrets ?? [])])
  const over = new AbortController()
  let parked: string | null = null
  let refused: Failure | null = null
  let isOverTurns = false
  let spent = NOTHING_SPENT
  /** Stops the agent; its session is resumed when a person has answered. */
  const park = (reason: string): void => {
    parked ??= reason
    over.abort()
  }
  // Model calls answered in a lost attempt are replayed and not paid again.
  const own = attempt.tried === undefined ? '' : `~${attempt.tried}`
  const keptAs = (number: number): string => `${attempt.key}/${number}${own}`
  const asking: GatewayRequest = {
    wires: row.wire === null ? AGENT_WIRES : [row.wire],
    // It may need no model, and then no key either.
    ...(row.wire === null ? { keyless: true as const } : {}),
    ...(model.use === null ? {} : { use: model.use }),
    ...(request.models === null ? {} : { models: request.models }),
    payer: attempt.key,
    folder: join(scratch, 'model'),
    listen: isBoxed ? 'socket' : 'loopback',
    ...(tools.budget === undefined
      ? {}
      : {
          spending: spendingOf(tools.budget, stop.signal, no => {
            refused = no
          }),
        }),
    onParked: ({ reason }) => park(reason),
    keepAs: again === undefined ? keptAs(attempt.attempt) : `${keptAs(attempt.attempt)}/again`,
    resumeFrom: agent.facts.earlier.flatMap(one =>
      one.how === 'lost' && one.visit === attempt.visit ? [keptAs(one.attempt)] : [],
    ),
    onCall: call => {
      spent = addSpend(spent, call)
      log.note(spendLine(`${call.model} ${call.status}`, spent))
    },
  }
  const opened = loginUse === null ? await options.openGateway(asking) : null
  if (opened?.ok === false) return failed(opened.failure)
  const gateway = opened?.gateway ?? null
  const plan = await options.openPlanTools?.({
    attempt,
    agent: `${chosen.name}/${attempt.task}`,
    folder: join(scratch, 'plan'),
  })
  try {
    const root = realpathSync(tools.root)
    const side = isBoxed ? 'sandbox' : 'loopback'
    const homeInside = isBoxed ? homeSeen(environment.value.HOME, root) : home.folder
    const values = {
      url: gateway?.url(side) ?? '',
      token: gateway?.token ?? '',
      model: model.name,
      root,
      home: homeInside,
      session: home.session(chosen.name) ?? '',
    }
    const launch = chosen.protocol === 'acp' ? row.acp : row.headless
    furnish(home.folder, { ...row.files, ...launch?.files }, values)
    const aside = chosen.protocol === 'acp' ? row.acp?.aside : undefined
    if (aside !== undefined && values.session !== '') setAside(home.folder, aside)
    const brief = (isResumed: boolean): string => {
      agent.onTurn?.(isResumed ? 'taken up' : 'new')
      return agentBrief(attempt, {
        facts: agent.facts,
        write: tools.write,
        isResumed,
        isBoxed,
        hasPlanTools: plan !== undefined && chosen.protocol === 'acp',
        refused: again,
      }).slice(0, BRIEF_MAX)
    }
    const start = startOf({ ...chosen, row }, values, brief)
    const env = {
      ...environment.value,
      ...(isBoxed ? {} : { HOME: home.folder }),
      ...(row.wire === null ? Object.assign({}, ...AGENT_WIRES.map(wire => gateway?.environmentFor(wire, side))) : {}),
      ...mapValues(row.env, text => filled(text, values)),
    }
    const doors: SandboxDoor[] = gateway === null ? [] : [gateway.sandboxDoor]
    if (plan !== undefined) doors.push({ folder: join(scratch, 'plan'), socket: plan.socket, port: PLAN_PORT })
    const gate = await openGate(tools)
    if (!gate.ok) return failed(gate.failure)
    const folder = await gate.value.directory(attempt.definition.cwd ?? '.')
    await gate.value.close()
    if (!folder.ok) return failed(folder.failure)
    const argv = secrets.length === 0 ? start.argv : withoutCore(start.argv)
    const cwd = join(root, attempt.definition.cwd ?? '.')
    const wrapped = isBoxed
      ? await sandboxCommand(
          tools.sandbox!,
          {
            root: tools.root,
            stateDir: tools.stateDir,
            cwd,
            write: agent.readOnly === true ? [] : tools.write,
            scratch: row.scratch,
            argv,
            env,
            home: home.folder,
            readable: chosen.found.folders,
            doors,
          },
          tools.log,
        )
      : null
    if (wrapped !== null && !wrapped.ok) {
      await folder.value.close()
      return failed(wrapped.failure)
    }
    log.note(
      `starts ${chosen.name} ${chosen.found.version ?? '(version unknown)'} (${chosen.protocol}, ${isBoxed ? 'in a sandbox' : 'without a sandbox'})`,
    )
    const stdout = new PassThrough()
    const lines =
      chosen.protocol === 'acp'
        ? null
        : new LineReader({
            paths: row.headless!.lines,
            root,
            log,
            onSession: session => home.keepSession(chosen.name, session),
            onLine: line => loginUse?.used.add(line),
            onTool: turnCounter(request.turns, () => {
              isOverTurns = true
              over.abort()
            }),
          })
    const child = await startChild({
      argv,
      stdin: chosen.protocol === 'acp' ? null : start.stdin,
      env,
      cwd: folder.value,
      wrapped: wrapped?.value ?? null,
      onOutput: (stream, chunk) => {
        if (stream === 'stderr') log.errors.write(chunk)
        else if (lines === null) stdout.write(chunk)
        else lines.write(chunk)
      },
    })
    await folder.value.close()
    if (child instanceof Error) {
      await wrapped?.value.close()
      return failed(spawnFailure(child, argv))
    }
    const both = AbortSignal.any([stop.signal, over.signal])
    const ending = follow(child, attempt, tools, { aborted: both.aborted, signal: both }, options)
    let turn: Awaited<ReturnType<typeof converse>> | null = null
    if (chosen.protocol === 'acp') {
      const place = { root, stateDir: tools.stateDir, home: homeInside, write: tools.write, isBoxed }
      turn = await converse(child.process, stdout, {
        cwd,
        session: home.session(chosen.name),
        mode: modeOf(row, isBoxed),
        auth: row.acp?.auth ?? null,
        mcpServers: plan === undefined ? [] : [planServer(plan, isBoxed, join(scratch, 'plan'))],
        prompt: brief,
        turnsMax: request.turns,
        version: options.version,
        log,
        onSession: session => home.keepSession(chosen.name, session),
        onUse: report => loginUse?.used.add(report),
        permit: async tool => {
          const verdict = await judgePermission(tool, place)
          if (verdict.allowed === true) return true
          log.note(askLine(verdict.what))
          const answer = await agent.permit(verdict, AbortSignal.any([stop.signal, over.signal]))
          if (answer === 'late') {
            log.note('nobody answered yet; the agent is stopped, and resumes when somebody has')
            park(`nobody has answered yet whether the agent may ${verdict.what}`)
          }
          if (answer === 'late' || answer === 'over') return null
          log.note(answer === 'yes' ? 'a person allowed it' : 'not allowed')
          return answer === 'yes'
        },
        signal: AbortSignal.any([stop.signal, over.signal]),
      })
      child.process.stdin?.end()
      await Promise.race([child.exited, sleep(LEAVE_MS, null, { ref: false })])
      over.abort()
    }
    const { why, exit } = await ending
    stdout.end()
    lines?.end()
    const isTimedOut = why === 'timed out'
    await wrapped?.value.close(turn?.ok === false || (turn === null && exit.exit !== 0))
    await gateway?.close()
    await loginUse?.close()
    const text = log.close()
    if (stop.aborted) return { type: 'interrupted' }
    if (exit.failure !== undefined) return failed(exit.failure)
    const { program, version } = chosen.found
    const measured = {
      ...(await beyondOf(wrapped?.value)),
      ...reported(gateway?.reports() ?? []),
      programs: {
        [agentProgram(chosen.name)]: { path: program, version, ...(model.name === '' ? {} : { model: model.name }) },
      },
    }
    const use = loginUse?.used.use ?? null
    const outputs: JsonObject = {
      ...(text === '' ? {} : { text }),
      ...reportedOutputs(attempt.definition, text),
      ...(use === null ? {} : { usage: reportedOutput(use) }),
    }
    if (parked !== null)
      return { type: 'parked', reason: parked, ...(refused === null ? {} : { failure: refused }), outputs, ...measured }
    const fault = isTimedOut
      ? timedOut(attempt)
      : (exit.excess ??
        faultOf({
          chosen,
          turn,
          isOverTurns,
          exit: exit.exit,
          errors: log.errors.text(),
          attempt,
          isResumable: isResumable(row, chosen.protocol) && home.session(chosen.name) !== null,
        }))
    if (fault !== null) return { type: 'failed', failure: fault, ...measured }
    return { type: 'done', outputs, ...measured }
  } finally {
    await gateway?.close()
    await loginUse?.close()
    await plan?.close()
  }
}

const BRIEF_MAX = 90_000
const isResumable = (row: AgentRow, protocol: Chosen['protocol']): boolean =>
  protocol === 'acp' || row.headless?.resume !== undefined

const NO_TOOLS: AgentTools = {
  facts: { plan: '', goal: null, decisions: [], earlier: [], changed: { paths: [], more: 0 } },
  permit: async () => 'no',
}

function turnCounter(turnsMax: number | null, tooMany: () => void): () => void {
  let turns = 0
  return () => {
    turns += 1
    if (turnsMax !== null && turns > turnsMax) tooMany()
  }
}

const UNBOXED: Failure = {
  ...failure(
    'policy',
    'there is no sandbox here, and the agent may not work without one',
    'install bubblewrap, or allow it when you are asked',
  ),
  code: 'agent:no-sandbox',
}

const UNBOXED_LOGIN: Failure = {
  ...failure(
    'policy',
    'there is no sandbox here, and an agent may use your login only inside one',
    'install bubblewrap, or do not let the agent use your login',
  ),
  code: 'agent:no-sandbox',
}

const UNLIMITED_LOGIN: Failure = failure(
  'policy',
  'the models that an agent asks with your login cannot be limited',
  'take `models` out of the task, or do not let the agent use your login',
)

const timedOut = ({ timeoutMs }: Attempt): Failure => ({
  class: 'transient',
  code: 'timeout',
  message: `the agent did not end within ${timeoutMs / 1000} s; it was ended`,
  hint: 'raise `timeout`, or give it a smaller task',
  retryable: true,
})

function faultOf(ended: {
  readonly chosen: Chosen
  readonly turn: Awaited<ReturnType<typeof converse>> | null
  readonly isOverTurns: boolean
  readonly exit: number | null
  readonly errors: string
  readonly attempt: Attempt
  readonly isResumable: boolean
}): Failure | null {
  const { chosen, turn, isOverTurns, exit, errors, attempt, isResumable } = ended
  const { title } = chosen.row
  const line = errorLine(errors)
  const because = line === null ? '' : ` (it said: ${line})`
  const broken = (message: string): Failure => ({
    class: 'transient',
    code: 'agent:ended',
    message: `${title}: ${message}${because}`,
    hint: advise`see what it printed with ${quoted('log', { output: true })}; the next attempt ${isResumable ? 'resumes its conversation' : 'begins anew'}`,
    retryable: true,
  })
  if (turn !== null) {
    if (!turn.ok) return broken(turn.message)
    if (turn.isOverTurns) return overTurns(title, chosen.request.turns ?? 0)
    // If there are criteria, they decide, and not the reason that the agent gives for the end of its turn.
    const isJudged = (attempt.definition.accept ?? attempt.definition.postconditions ?? []).length > 0
    return turn.stop === 'end_turn' || isJudged ? null : broken(`it ended its turn with '${turn.stop}'`)
  }
  if (isOverTurns) return overTurns(title, chosen.request.turns ?? 0)
  if (exit === null) return broken('it was ended by a signal')
  return exit === 0 ? null : broken(`it ended with exit code ${exit}`)
}

const overTurns = (title: string, turns: number): Failure => ({
  class: 'logic',
  code: 'agent:turns',
  message: `${title} called its tools more than ${turns} times, and was stopped`,
  hint: 'raise `turns`, or give it a smaller task',
  retryable: true,
})

function reported(reports: readonly ModelReport[]): { readonly model?: ModelReport } {
  const [first, ...others] = reports
  if (first === undefined) return {}
  if (others.length === 0) return { model: first }
  const use = others.reduce(
    (sum, { use: one }) => ({
      model: `${sum.model}, ${one.model}`,
      calls: sum.calls + one.calls,
      usage: addUsage(sum.usage, one.usage),
      cost: addCost(sum.cost, one.cost),
      wireUsage: [...sum.wireUsage, ...one.wireUsage],
      providerMetadata: [...sum.providerMetadata, ...one.providerMetadata],
    }),
    first.use,
  )
  return { model: { use, recording: { recordings: reports.flatMap(({ recording }) => recordingsIn(recording)) } } }
}

const recordingsIn = (recording: unknown): readonly unknown[] => {
  const { recordings } = recording as { readonly recordings?: unknown }
  return Array.isArray(recordings) ? recordings : [recording]
}

function previewOf({ action, definition }: Attempt): string {
  const request = agentRequest(action)
  const name = request?.use ?? request?.command?.join(' ') ?? 'the default agent'
  return `starts ${name}:\n${definition.instruction ?? ''}`
}
