// The state of the plan on the page, by the same rule as `planfold status` and the list of plans.

import { useQuery } from '@tanstack/react-query'
import { type PlanFacts, planState, type ShownState } from '../../src/domain/views/pages/plan-state.ts'
import { heldFiles, planSummary } from '../data/api.ts'
import type { LivePlan } from '../data/live.ts'

const EVERY_MS = 5_000

/** Whether a process drives the plan, and whether another plan holds its files, is not in the journal: the service is asked. */
export function usePlanState({ head, tasks }: LivePlan): ShownState {
  const { id, status, counts, version } = head
  const isOpen = status === 'active' && counts.running + counts.ready > 0
  const { data } = useQuery({
    queryKey: ['driven', id],
    queryFn: async () => ({ summary: await planSummary(id), held: counts.running > 0 ? [] : await heldFiles(id) }),
    enabled: isOpen,
    refetchInterval: EVERY_MS,
  })
  const summary = isOpen ? data?.summary : undefined
  // An entry has come since the service was asked: then a process drives the plan, as far as this page can know.
  const isDriven = summary == null || summary.version < version || summary.holder?.alive === true
  const waiting = tasks.flatMap(({ name, asks }) => (asks === null ? [] : [{ task: name, asks: { type: asks } }]))
  return planState({
    summary: { status, waiting, progress: { counts } } as unknown as PlanFacts['summary'],
    board: tasks.map(({ by, isLater, ...task }) => ({
      ...task,
      claimedBy: by,
      ...(isLater ? { isLater } : {}),
    })) as unknown as PlanFacts['board'],
    isDriven,
    held: data?.held ?? [],
  })
}
