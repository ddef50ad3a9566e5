// Applies the policy to an attempt: which commands may run, which files it may write and read, what may be sent to a service.

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

const COMMAND = 'policy:command'

/** Returns a check of single commands for a runner. Commands that need approval may run once the task is approved. */
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

/** `git push` and `git fetch` run outside the sandbox and its proxy, so the policy layers are checked here. */
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
        'use another remote, or ask the author of the rule to change it',
      )
  }
  return null
}

const GIT_PORTS: { readonly [scheme: string]: number } = { https: 443, http: 80, ssh: 22, git: 9418 }

function targetOf(url: string): readonly NetworkTarget[] {
  const long = /^([a-z+]+):\/\/(?:[^/@]*@)?(\[[^\]]*\]|[^/:]+)(?::(\d+))?/i.exec(url)
  const short = /^(?:[\w.-]+@)?([\w.-]+):(?!\/\/)/.exec(url)
  const [scheme, host, port] =
    long === null ? ['ssh', short?.[1], undefined] : [long[1]!.toLowerCase(), long[2], long[3]]
  const plain = host === undefined ? null : plainHost(host)
  if (plain === null || scheme === 'file') return []
  return [{ host: plain, port: port === undefined ? (GIT_PORTS[scheme!] ?? 443) : Number(port), request: null }]
}

/** A task must not start if any of its commands is denied, also a later one such as a check. */
export function deniedCommand(state: PlanState, definition: TaskDefinition): Failure | null {
  if (state.layers.length === 0 && state.definition.policy?.commands === undefined) return null
  for (const command of commandsOf(definition)) {
    const answer = commandAnswer(state, command)
    if (answer.verdict === 'deny') return refused(command, answer)
  }
  return null
}

/** Nor may a task that declares files which the policy layers do not let it write. */
export function deniedWrite({ layers }: PlanState, definition: TaskDefinition): Failure | null {
  const refused = refusedWrite(layers, definition)
  return refused === null ? null : failure('policy', refused.message, refused.hint)
}

function refused(command: CommandLine, answer: CommandAnswer): Failure {
  const unasked = answer.verdict === 'ask' ? ', and nobody was asked' : ''
  const words = commandText(command)
  const hint =
    answer.verdict === 'ask'
      ? 'let a task run it as its action or its `accept`: a person is asked before the task begins'
      : 'do without it, or ask the author of the rule to change it'
  const text = words.length > 120 ? `${words.slice(0, 120)}…` : words
  return { ...failure('policy', `'${text}' is not run: ${commandReason(answer)}${unasked}`, hint), code: COMMAND }
}

/** What it may write once approved: its own scope, within the policy layers. */
export function writeAgreed(state: PlanState, definition: TaskDefinition): Patterns {
  return writeAround(state).reduce<Patterns>(intersectScopes, scopeOf(state.definition, definition))
}

/** What it may write now. Beyond the plan's own list only with approval. */
export function writeFor(state: PlanState, definition: TaskDefinition): Patterns {
  const agreed = writeAgreed(state, definition)
  const { write } = state.definition.policy ?? {}
  const isAgreed = (state.tasks.get(definition.id)?.consent ?? null) !== null
  return write === undefined || isAgreed ? agreed : intersectScopes(agreed, write)
}

export function readTools(state: PlanState, definition: Pick<TaskDefinition, 'read'>): Pick<RunnerTools, 'read'> {
  const read = readAround(state, definition).reduce<Patterns>(intersectScopes, null)
  return read === null ? {} : { read }
}

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
