// What tasks can run here: each runner with its description, the schema of its action, and whether this machine has what it needs.

import { actionFacts } from '../../domain/actions/actions.ts'
import type { Hint } from '../../domain/hint.ts'
import { type JsonObject, pick } from '../../domain/json.ts'
import type { ActionType } from '../../domain/plan.ts'
import { planJsonSchema } from '../../format/plan/json-schema.ts'
import type { ModelList } from '../../runners/models.ts'
import type { KnownAgent, Runner, RunnerAbout } from '../../runners/runner.ts'
import type { Finding } from './doctor.ts'

export interface Capability extends Pick<RunnerAbout, 'does' | 'effects' | 'risks' | 'dryRun'> {
  readonly action: ActionType
  /** `partly`: it works, but something is weaker or missing, see `why`. */
  readonly works: 'yes' | 'partly' | 'no'
  readonly why: string | null
  readonly repair: Hint | null
  readonly schema: JsonObject
}

export function capabilities(
  runners: Iterable<Runner>,
  machine: readonly Finding[],
  models: Pick<ModelList, 'default' | 'models'>,
  agents: readonly Pick<KnownAgent, 'status'>[],
): readonly Capability[] {
  const schemas = taskSchemas()
  const isNamed = models.default !== null || models.models.length > 0
  const findings: readonly Lack[] = [
    ...(agents.every(({ status }) => status === 'missing') ? [NO_AGENT] : []),
    ...machine,
    ...(isNamed ? [] : [NO_MODEL]),
  ]
  return [...runners].flatMap(({ action, about }) => {
    if (about === undefined) return []
    const needed = findings.filter(({ part }) => about.uses?.some(used => used === part) === true)
    const lack =
      about.lacks === undefined
        ? (needed.find(({ status }) => status === 'problem') ?? needed.find(({ status }) => status === 'warning'))
        : { status: 'problem' as const, message: about.lacks, repair: null }
    return [
      {
        action,
        ...pick(about, 'does', 'effects', 'risks', 'dryRun'),
        works:
          lack === undefined
            ? 'yes'
            : lack.status === 'warning' && actionFacts({ type: action }).runsCommands === true
              ? 'partly'
              : 'no',
        why: lack?.message ?? null,
        repair: lack?.repair ?? null,
        schema: (schemas[action] as JsonObject | undefined) ?? {},
      } satisfies Capability,
    ]
  })
}

type Lack = Pick<Finding, 'status' | 'message' | 'repair'> & { readonly part: string }

const NO_AGENT: Lack = {
  part: 'agents',
  status: 'problem',
  message: 'no coding agent is installed',
  repair: 'install one, such as Claude Code, Codex or Gemini CLI',
}

const NO_MODEL: Lack = {
  part: 'models',
  status: 'problem',
  message: 'no model is named in your settings',
  repair: 'set PLANFOLD_MODEL, or name one in your settings',
}

function taskSchemas(): JsonObject {
  const { properties } = planJsonSchema() as { readonly properties?: JsonObject }
  const { items } = (properties?.tasks ?? {}) as {
    readonly items?: { readonly $ref?: string; readonly properties?: JsonObject }
  }
  if (items?.properties !== undefined) return items.properties
  // Recursive schemas are in `$defs`.
  const { $defs = {} } = planJsonSchema() as {
    readonly $defs?: { readonly [name: string]: { readonly properties?: JsonObject } }
  }
  return $defs[items?.$ref?.split('/').at(-1) ?? '']?.properties ?? {}
}
