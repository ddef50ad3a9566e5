// Finds existing work for a goal: a plan drafted for the same goal from the same manifests, and a template that fits. Both are only
// suggested; a new draft is made anyway.

import { createHash } from 'node:crypto'
import type { Millis } from '../../../domain/id.ts'
import { mapOf } from '../../../domain/json.ts'
import type { PlanDefinition } from '../../../domain/plan.ts'
import type { CallerEngine } from '../../../operations/run-plan.ts'
import { shelfWith } from '../../../operations/templates.ts'
import type { PlanProposal, RepositoryView } from '../planner.ts'

const MANIFEST =
  /(^|\/)(package\.json|pyproject\.toml|setup\.(py|cfg)|requirements[\w-]*\.txt|Cargo\.toml|go\.mod|Gemfile|composer\.json|pom\.xml|build\.gradle(\.kts)?|mix\.exs|CMakeLists\.txt|Makefile)$/
const MANIFESTS_MAX = 200
const LOOKED_AT_MAX = 200

export async function manifestsOf(repository: RepositoryView): Promise<string> {
  const paths = (await repository.files()).map(({ path }) => path).filter(path => MANIFEST.test(path))
  const read = paths.sort().slice(0, MANIFESTS_MAX)
  const texts = await repository.read(read)
  return createHash('sha256')
    .update(JSON.stringify(read.map((path, at) => [path, texts[at]])))
    .digest('hex')
    .slice(0, 32)
}

export function withManifests(definition: PlanDefinition, manifests: string): PlanDefinition {
  const planning = { ...mapOf(definition.extra?.planning), manifests }
  return { ...definition, extra: { ...definition.extra, planning } }
}

export interface EarlierDraft {
  readonly name: string
  readonly at: Millis
}

/** The newest plan with this goal text, drafted from the same manifests. */
export async function draftedBefore(
  engine: Pick<CallerEngine, 'ask'>,
  repository: RepositoryView,
  goal: string,
): Promise<EarlierDraft | null> {
  const { items } = await engine.ask({ type: 'plans', limit: LOOKED_AT_MAX })
  const same = items.filter(item => item.goal !== null && normalised(item.goal) === normalised(goal))
  const manifests = same.length === 0 ? '' : await manifestsOf(repository)
  for (const { id: plan, name, createdAt: at } of same) {
    const found = await engine.ask({ type: 'definition', plan })
    if (mapOf(found?.definition.extra?.planning).manifests === manifests) return { name, at }
  }
  return null
}

const normalised = (goal: string): string =>
  goal
    .toLowerCase()
    .replace(/[\s.!?"'`]+/g, ' ')
    .trim()

const BY_KIND: { readonly [kind: string]: string } = {
  'dependency-update': 'dependency-upgrade',
  rollout: 'staged-rollout',
}
const FILLING = /^(a|an|and|for|in|of|or|the|then|to|with)$/

/** A template for this kind of goal, or one whose name appears in the goal; the user's own first. */
export async function fittingTemplate(
  folder: string,
  goal: string,
  { kind, planner }: Pick<PlanProposal, 'kind' | 'planner'>,
): Promise<string | null> {
  if (planner === 'template') return null
  const singular = (word: string): string => word.replace(/s$/, '')
  const goalWords = new Set((goal.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).map(singular))
  const isNamed = (name: string): boolean => {
    const words = name.split('-').filter(word => !FILLING.test(word))
    return words.length > 1 && words.every(word => goalWords.has(singular(word)))
  }
  const shelf = [...(await shelfWith(folder))].sort((a, b) => Number(b.origin === 'own') - Number(a.origin === 'own'))
  const names = shelf.map(({ name }) => name)
  return names.find(isNamed) ?? names.find(name => name === BY_KIND[kind]) ?? null
}
