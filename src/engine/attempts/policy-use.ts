// Where the policy meets an attempt: which commands may run, which files it may write and read, what may be sent out.

import type { CommandLine, DataRules, TaskDefinition } from '../../domain/plan.ts'
import { commandText } from '../../domain/plan-rules/criterion-text.ts'
import { scopeOf } from '../../domain/plan-rules/effect.ts'
import { covers, type NetworkTarget, parseNetworkRule, plainHost } from '../../domain/plan-rules/network-rule.ts'
import {
  type CommandAnswer,
  commandAnswer,
  commandReason,
  commandsOf,
  networkAround,
  policyOf,
  readAround,
  writeAround,
} from '../../domain/policy/policy-in-state.ts'
import { layerWords } from '../../domain/policy/policy-layer.ts'
import type { Failure } from '../../domain/result.ts'
import type { PlanState } from '../../domain/state/state.ts'
import type { RunnerTools } from '../../runners/runner.ts'
import { refusedWrite } from '../../safety/policy/refused-write.ts'
import { failure } from '../../safety/safety-refusal.ts'
import { runsOutside } from '../../safety/sandbox/command-sandbox.ts'
import { intersectScopes, type Patterns } from '../../safety/scope.ts'
import { remotesOf } from '../gates/command-files.ts'

/** As a code of the failure, for rules of recovery. */
const COMMAND = 'policy:command'

/** For whoever starts commands of a task: why one is not run. What is asked about runs once somebody has agreed to the task. */
export function commandsFor(
  { root }: { readonly root: string },
  state: PlanState,
  { id }: Pick<TaskDefinition, 'id'>,
): Pick<RunnerTools, 'refuses'> {
  if (state.layers.length === 0 && state.definition.policy?.commands === undefined) return {}
  return {
    refuses: command => {
      const answer = commandAnswer(state, command)
      const isAgreed = (state.tasks.get(id)?.consent ?? null) !== null
      if (answer.verdict === 'deny' || (answer.verdict === 'ask' && !isAgreed)) return refused(command, answer)
      return 'argv' in command && runsOutside(command.argv) ? remoteBeyond(root, state, command.argv, isAgreed) : null
    },
  }
}

/** What git itself sends to a remote goes past the proxy of the sandbox, so the layers around the plan are asked here. */
function remoteBeyond(root: string, state: PlanState, argv: readonly string[], isAgreed: boolean): Failure | null {
  const limits = networkAround({ ...state, definition: {} as PlanState['definition'] }, {})
  if (limits.length === 0) return null
  const remotes = remotesOf(root)
  const words = argv.slice(2).filter(word => !word.startsWith('-'))
  const [name] = words
  const named = Object.entries(remotes).filter(([key]) => key === name || key === `${name} (push)`)
  const urls =
    name === undefined || named.length === 0 ? [...words, ...Object.values(remotes)] : named.map(([, url]) => url)
  for (const target of urls.flatMap(targetOf)) {
    const beyond = limits.find(
      ({ says }) =>
        !says.allow.some(text => {
          const parsed = parseNetworkRule(text)
          return parsed.ok && covers(parsed.rule, target)
        }) && !(says.unknown === 'ask' && isAgreed),
    )
    if (beyond !== undefined)
      return failure(
        'policy',
        `git would reach ${target.host}:${target.port}, which ${layerWords(beyond.by, 'network')} does not allow`,
        'use another remote, or have the rule changed by whoever made it',
      )
  }
  return null
}

const GIT_PORTS: { readonly [scheme: string]: number } = { https: 443, http: 80, ssh: 22, git: 9418 }

/** Where an address of git leads; nothing for a folder of this machine. */
function targetOf(url: string): readonly NetworkTarget[] {
  const long = /^([a-z+]+):\/\/(?:[^/@]*@)?(\[[^\]]*\]|[^/:]+)(?::(\d+))?/i.exec(url)
  const short = /^(?:[\w.-]+@)?([\w.-]+):(?!\/\/)/.exec(url)
  const [scheme, host, port] =
    long === null ? ['ssh', short?.[1], undefined] : [long[1]!.toLowerCase(), long[2], long[3]]
  const plain = host === undefined ? null : plainHost(host)
  if (plain === null || scheme === 'file') return []
  return [{ host: plain, port: port === undefined ? (GIT_PORTS[scheme!] ?? 443) : Number(port), request: null }]
}

/** Denied is denied from the beginning: a task whose check may not run is not begun. */
export function deniedCommand(state: PlanState, definition: TaskDefinition): Failure | null {
  if (state.layers.length === 0 && state.definition.policy?.commands === undefined) return null
  for (const command of commandsOf(definition)) {
    const answer = commandAnswer(state, command)
    if (answer.verdict === 'deny') return refused(command, answer)
  }
  return null
}

/** Nor is one begun whose files the policy around the plan does not let be written. */
export function deniedWrite({ layers }: PlanState, definition: TaskDefinition): Failure | null {
  const refused = refusedWrite(layers, definition)
  return refused === null ? null : failure('policy', refused.message, refused.hint)
}

function refused(command: CommandLine, answer: CommandAnswer): Failure {
  const unasked = answer.verdict === 'ask' ? ', and nobody was asked' : ''
  const said = commandText(command)
  const hint =
    answer.verdict === 'ask'
      ? 'let a task run it as its action or its `accept`: a person is asked before the task begins'
      : 'do without it, or have the rule changed by whoever made it'
  const text = said.length > 120 ? `${said.slice(0, 120)}…` : said
  return { ...failure('policy', `'${text}' is not run: ${commandReason(answer)}${unasked}`, hint), code: COMMAND }
}

/** What it may write once somebody has agreed to it: what it says, within what the layers around the plan say. */
export function writeAgreed(state: PlanState, definition: TaskDefinition): Patterns {
  return writeAround(state).reduce<Patterns>(intersectScopes, scopeOf(state.definition, definition))
}

/** What it may write now. Beyond the plan's own list it gets only where somebody has agreed to that. */
export function writeFor(state: PlanState, definition: TaskDefinition): Patterns {
  const agreed = writeAgreed(state, definition)
  const { write } = state.definition.policy ?? {}
  const isAgreed = (state.tasks.get(definition.id)?.consent ?? null) !== null
  return write === undefined || isAgreed ? agreed : intersectScopes(agreed, write)
}

/** What it may read of the workspace, where the policy says something about that. */
export function readTools(state: PlanState, definition: Pick<TaskDefinition, 'read'>): Pick<RunnerTools, 'read'> {
  const read = readAround(state, definition).reduce<Patterns>(intersectScopes, null)
  return read === null ? {} : { read }
}

/** Why nothing may be sent there; null when it may. */
export function refusesSending(state: PlanState, what: keyof DataRules): Failure | null {
  if (state.layers.length === 0 && state.definition.policy?.data === undefined) return null
  if (policyOf(state).data[what] !== 'deny') return null
  const by = state.layers.find(({ policy }) => policy.data?.[what] === 'deny')
  const who = by === undefined ? "the plan's policy" : layerWords(by, 'data')
  return what === 'logins'
    ? failure(
        'policy',
        `${who} does not allow agents to use your login (data.logins: deny)`,
        'do not let the agent use your login: its model is then called with your key, and counted',
      )
    : failure('policy', `${who} allows nothing to be sent to ${what} (data.${what}: deny)`, 'do without it')
}
