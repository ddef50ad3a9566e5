// The model gateway of one attempt: what a coding agent speaks to instead of the provider. It gets a token instead of the key, and
// everything it asks is limited, metered, priced and recorded by us. Opened through `Models` (models.ts):
//
//   const opened = await models.openGateway({ wires: ['anthropic'], payer: attempt.key, folder, spending, onParked })
//   if (!opened.ok) return opened.failure
//   const { gateway } = opened
//   start the agent with gateway.environmentFor('anthropic', 'sandbox')      // or 'loopback', outside of a sandbox
//   await gateway.close()                                                    // when the agent has ended; waits for open answers
//   gateway.reports()                                                        // what was used and said, one for each model
//
// In a sandbox the socket is found on its loopback: give `gateway.sandboxDoor` to `SandboxRequest.doors`. Without a sandbox, open with
// `listen: 'loopback'`.

import type { SettingsCaps } from '../domain/budget/amounts.ts'
import type { Hint } from '../domain/hint.ts'
import type { ModelUse } from '../domain/model-use.ts'
import type { Failure } from '../domain/result.ts'
import type { ModelCaps, ModelCost, ModelRecording, ModelSpending, ModelUsage } from './models.ts'

export type GatewayWire = 'anthropic' | 'openai-chat' | 'openai-responses' | 'gemini'

export type GatewaySide = 'sandbox' | 'loopback'

export interface GatewayRequest {
  /** What the agent may speak. Only those are served that a provider speaks as well; one at least must be. */
  readonly wires: readonly GatewayWire[]
  /**
   * `provider/name`: requests go to this provider. When absent, to that of the default model if it speaks the wire, else to the provider
   * that is known for it. Which of the provider's models is asked is up to the agent, unless `models` says: it may ask others on the side.
   */
  readonly use?: string
  /** Models that may be asked besides `use`, as `isModelAllowed` reads them; any other is refused. */
  readonly models?: readonly string[]
  /** It is unknown whether a model will be asked: without a key it opens anyway, and calls get that error. */
  readonly keyless?: true
  /** Who pays: the key of the task's visit. Shown by `planfold models usage`. */
  readonly payer: string
  /** In one or two words; `agent` when absent. */
  readonly purpose?: string
  /** Made with mode 0700; holds the socket and nothing else, and is taken away by `close`. Its path must be short (80 bytes). */
  readonly folder: string
  readonly listen?: 'socket' | 'loopback'
  /** Asked before every call. Absent where no plan pays: then only what the user wrote into the settings holds. */
  readonly spending?: Spending
  /** Where no plan pays: what a person allows, within the settings. */
  readonly allowance?: Allowance
  /** Called once, when the budget does not allow a call. Stop the agent and park the attempt; every later call is refused as well. */
  readonly onParked?: (parked: GatewayParked) => void
  readonly onCall?: (call: GatewayCall) => void
  /** Earlier answers, each for one equal request. Other requests: `refuse` sends nothing (replay), `ask` sends them. */
  readonly recorded?: { readonly recordings: readonly ModelRecording[]; readonly else: 'refuse' | 'ask' }
  /** Also keeps exchanges in the state folder as `<key>/<attempt>`, for a week, so that a crash does not lose them. */
  readonly keepAs?: string
  /** Names of attempts that were lost in a crash: what they kept is answered as by `recorded: { …, else: 'ask' }`. */
  readonly resumeFrom?: readonly string[]
  readonly limits?: Partial<GatewayLimits>
}

export interface Allowance {
  caps: ModelCaps
  /** Asks them whether more may be used; when absent, the agent is parked at its limits. */
  readonly more?: (question: string) => Promise<boolean>
}

export interface GatewayLimits {
  readonly requestBytes: number
  /** Of a response: a longer one is broken off, and counted with all that was reserved. */
  readonly responseBytes: number
  readonly connections: number
  readonly idleMs: number
  /** How long `close` waits for answers without a reader, to learn what they used. */
  readonly drainMs: number
}

export type GatewayOpened =
  | { readonly ok: true; readonly gateway: Gateway }
  | { readonly ok: false; readonly failure: Failure }

export interface Gateway {
  readonly folder: string
  readonly socketPath: string
  /** Of 127.0.0.1; null when it listens on its socket only. */
  readonly port: number | null
  readonly token: string
  /** For `SandboxRequest.doors`: the socket, and the port of the sandbox's loopback where it is found. */
  readonly sandboxDoor: { readonly folder: string; readonly socket: string; readonly port: number }
  /** `http://127.0.0.1:PORT`, without the version that each protocol adds. */
  url(side: GatewaySide): string
  /** The variables that programs of this protocol read for address and key. What an agent needs besides is its own profile's. */
  environmentFor(wire: GatewayWire, side: GatewaySide): { readonly [name: string]: string }
  spent(): ModelSpending
  /** Set when the budget did not allow a call. The reason comes from the budget, never from the agent. */
  parked(): GatewayParked | null
  /** One for each model that was asked, in the form of a model task: `use` without the hash, and the recording for a replay. */
  reports(): readonly GatewayReport[]
  /** The token ends at once. Waits for open calls as long as `drainMs`, then breaks them off, counted with all that was reserved. */
  close(): Promise<void>
}

export interface GatewayParked {
  readonly reason: string
  readonly hint?: Hint
  readonly model: string
}

export interface GatewayReport {
  readonly use: Omit<ModelUse, 'recording'>
  readonly recording: ModelRecording
  /** So many exchanges are missing in the recording, because it would be too large to store. */
  readonly unrecorded: number
}

export interface GatewayCall {
  readonly id: string
  readonly model: string
  readonly wire: GatewayWire
  readonly status: 'answered' | 'failed' | 'cut off'
  readonly httpStatus: number | null
  readonly usage: ModelUsage
  readonly cost: ModelCost
  /** False: the provider did not say, so all that was reserved is counted. */
  readonly isCounted: boolean
}

export interface Spending {
  /**
   * Answers when it is granted, or when it can never be: while others hold what would make it fit, it waits. A grant may be smaller than
   * what was asked for, but not smaller than `least`. `signal` fires when nobody waits for the answer any more.
   */
  reserve(request: SpendingRequest, signal?: AbortSignal): Promise<SpendingAnswer>
  /** What it really was; also `calls: 0` when nothing was sent. A reservation that is never settled stays spent. */
  settle(id: string, actual: SpentAmount): Promise<void>
}

export interface SpentAmount {
  readonly calls: number
  readonly tokens: number
  readonly cost: ModelCost
}

export interface SpendingRequest extends SpentAmount {
  /** The shortest answer that would be of use. */
  readonly least: SpentAmount
  readonly settings?: () => Promise<SettingsCaps | undefined>
}

export type SpendingAnswer =
  | {
      readonly granted: true
      readonly id: string
      readonly tokens?: number
      readonly usd?: number
    }
  /** A sentence for people: which limit, and how much of it is used. */
  | { readonly granted: false; readonly reason: string; readonly hint?: Hint }
