// The service itself: sign-in, tokens, search and metrics over all plans, artifacts.

import type { Json } from '../../../domain/json.ts'
import type { Int, Loose, PageOf, Time } from './fields.ts'

export interface Identity {
  readonly actor: string
  readonly role: 'viewer' | 'operator' | 'approver' | 'admin'
  /** Only these plans and sessions; everything when null. */
  readonly scope: { readonly plans: readonly string[]; readonly sessions: readonly string[] } | null
}

export interface Invitation {
  readonly code: string
  /** Opens the service in a browser, once. */
  readonly link: string
  readonly expires_at: Time
}

interface Token {
  readonly name: string
  readonly role: 'viewer' | 'operator' | 'approver' | 'admin'
  /** Only these plans and sessions; everything when null. */
  readonly scope: { readonly plans: readonly string[]; readonly sessions: readonly string[] } | null
  readonly created_at: Time
  readonly expires_at: Time | null
}

export type Tokens = { readonly items: readonly Token[]; readonly next: null }

export interface TokenMade extends Token {
  /** Told here and never again. */
  readonly token: string
}

export type OpenApiDocument = Loose & { readonly openapi: '3.1.0'; readonly paths: Loose }
export type Health = { readonly status: 'ok' }
export type Readiness = { readonly status: 'ready' | 'stopping' }
export type Version = { readonly name: 'planfold'; readonly version: string; readonly api: 1 }

/** @minimum 0 */
type Count = Int

export interface StepsPage {
  readonly items: readonly {
    readonly group: string | null
    readonly attempts: Count
    readonly succeeded: Count
    readonly failed: Count
    readonly lost: Count
    readonly retries: Count
    /**
     * @minimum 0
     * @maximum 1
     */
    readonly success_rate: number
    readonly duration_ms: { readonly sum: number; readonly p50: number; readonly p95: number; readonly max: number }
    readonly files: Count
    readonly bytes: Count
    readonly tokens: { readonly input: number; readonly output: number; readonly total: number } | null
    readonly cost: number | null
    readonly tools: readonly {
      readonly name: string
      readonly steps: Count
    }[]
  }[]
  readonly next: string | null
  readonly complete: boolean
}

export interface SearchPage {
  readonly items: readonly {
    readonly kind: 'plan' | 'task' | 'log'
    readonly plan_id: string
    readonly plan_name: string
    readonly task: string | null
    readonly snippet: string
    readonly matches: readonly (readonly [Int, Int])[]
    readonly at: Time
    readonly log: {
      readonly seq: Int
      readonly visit: Int
      readonly attempt: Int
      readonly stream: 'stdout' | 'stderr' | 'engine'
    } | null
  }[]
  readonly next: string | null
  readonly complete: boolean
}

interface ArtifactShown {
  /** plan/task/name@version */
  readonly address: string
  readonly task: string
  readonly output: string
  readonly version: Int
  readonly kind: 'file' | 'report' | 'dataset' | 'patch' | 'log' | 'note' | 'link' | 'links'
  readonly type: string | null
  readonly retention: string
  /** The name under which the plan publishes it. */
  readonly published: string | null
  readonly sha256: string
  readonly bytes: Int | null
  /** Where it stood in the workspace. */
  readonly file: string | null
  readonly how: 'output' | 'upload' | 'import'
  readonly by: string
  readonly at: Time
  readonly expires_at: Time | null
  readonly expired: boolean
  /** Its content is for those only who may see stored bytes. */
  readonly confidential: boolean
  /** The sources that it names. */
  readonly cites: readonly string[]
  /** Where its bytes are. */
  readonly href: string
}

export type ArtifactPage = PageOf<ArtifactShown>

interface ArtifactDecision {
  readonly task: string
  readonly what: string
  readonly by: string
  readonly at: Time
  readonly rationale?: string
}

/** An artifact with where it came from. */
export interface ArtifactDescribed extends ArtifactShown {
  readonly content: 'kept' | 'expired' | 'missing'
  readonly provenance: {
    readonly revision: Int
    /** What its task did, as the revision of that time says. */
    readonly did: Json
    /** Of the resolved action, inputs, environment and folder. */
    readonly input_hash: string | null
    /** The artifacts that its task read. */
    readonly inputs: readonly { readonly address: string; readonly sha256: string }[]
    readonly environment: { readonly runs: string | null; readonly programs: readonly string[] }
    readonly model: { readonly model: string; readonly calls: Int; readonly recording: string } | null
    readonly approvals: readonly ArtifactDecision[]
    readonly led_to: readonly ArtifactDecision[]
  }
}

export interface ArtifactUpload {
  readonly name: string
  /** Continue from here. */
  readonly received: Int
  readonly bytes: Int
  readonly complete: boolean
}

export type ArtifactUploads = PageOf<{
  readonly name: string
  /** Of the whole. */
  readonly sha256: string
  readonly bytes: Int
  readonly received: Int
}>

/** Processes that drive plans, on whichever machine, and the plans that wait for one. */
export interface Workers {
  readonly workers: readonly {
    readonly id: string
    readonly host: string
    /** @asType integer */
    readonly pid: number
    readonly alive: boolean
    /** It finishes what runs, and begins nothing new. */
    readonly draining: boolean
    readonly labels: readonly string[]
    /**
     * How many plans it drives at most; null for a process that only drives a named plan.
     * @asType integer
     */
    readonly concurrency: number | null
    readonly version: string | null
    /**
     * Open plans that it drives now.
     * @asType integer
     */
    readonly plans: number
  }[]
  /** Null where the store is in the folder of one machine. */
  readonly queue: {
    /** @asType integer */
    readonly due: number
    readonly oldest_ms: number | null
    /** @asType integer */
    readonly later: number
    readonly tail_lag_ms: number
    readonly unmet: readonly {
      readonly labels: readonly string[]
      readonly folder: string | null
      /** @asType integer */
      readonly plans: number
    }[]
  } | null
}
