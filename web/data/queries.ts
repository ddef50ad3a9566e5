// Queries for lists and details that the live stream does not carry in full. After an event, the affected queries are refetched
// with a short delay, so that a burst of changes costs one request.

import { QueryClient, queryOptions, useQuery } from '@tanstack/react-query'
import * as api from './api.ts'
import { live } from './live.ts'

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 30_000,
      retry: (failures, error) =>
        !(error instanceof api.Problem && error.status >= 400 && error.status < 500) && failures < 2,
      refetchOnWindowFocus: false,
    },
  },
})

const SOON_MS = 300
const EVERY_MS = 1_000

/** Refetches lists soon after the first change, and once per second while changes go on. */
export function followChanges(): void {
  let isComing = false
  let last = 0
  live.onChanged(() => {
    if (isComing) return
    isComing = true
    const wait = Math.max(SOON_MS, last + EVERY_MS - Date.now())
    setTimeout(() => {
      isComing = false
      last = Date.now()
      void queryClient.invalidateQueries({ queryKey: ['plans'] })
      void queryClient.invalidateQueries({ queryKey: ['inbox'] })
      void queryClient.invalidateQueries({ queryKey: ['checkpoints'] })
      // Only the newest page: older entries do not change.
      void queryClient.invalidateQueries({ queryKey: ['history', 'newest'] })
    }, wait)
  })
}

export const identity = queryOptions({
  queryKey: ['identity'],
  queryFn: api.whoami,
  staleTime: Number.POSITIVE_INFINITY,
  retry: false,
})
export const plans = queryOptions({ queryKey: ['plans'], queryFn: () => api.listPlans() })
export const plansBy = (asked: api.PlansAsked, wanted?: number) =>
  queryOptions({
    queryKey: Object.keys(asked).length === 0 && wanted === undefined ? ['plans'] : ['plans', asked, wanted ?? null],
    queryFn: () => api.listPlans(asked, wanted),
    placeholderData: (before: api.PlanList | undefined) => before,
  })
export const inbox = queryOptions({ queryKey: ['inbox'], queryFn: api.listInbox })
export const templates = queryOptions({ queryKey: ['templates'], queryFn: api.listTemplates })

export const agents = queryOptions({ queryKey: ['agents'], queryFn: api.listAgents })

export const useIdentity = () => useQuery(identity).data
export const useInbox = () => useQuery(inbox)

/** What this person may do. The service decides; the web UI only hides what it would refuse. */
export function useRights(): { readonly operate: boolean; readonly decide: boolean } {
  const role = useIdentity()?.role ?? 'viewer'
  return { operate: role === 'operator' || role === 'admin', decide: role === 'approver' || role === 'admin' }
}
