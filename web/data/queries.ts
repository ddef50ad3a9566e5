// What is asked and kept: lists and single things that the live stream does not carry whole. When something happened, what could be
// different is asked again, a moment later, so that a burst of changes costs one request.

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

const AGAIN_MS = 300

/** Lists are asked again after changes; soon after the first, and at most so often. */
export function followChanges(): void {
  let isComing = false
  live.onChanged(() => {
    if (isComing) return
    isComing = true
    setTimeout(() => {
      isComing = false
      void queryClient.invalidateQueries({ queryKey: ['plans'] })
      void queryClient.invalidateQueries({ queryKey: ['inbox'] })
      void queryClient.invalidateQueries({ queryKey: ['checkpoints'] })
    }, AGAIN_MS)
  })
}

export const identity = queryOptions({
  queryKey: ['identity'],
  queryFn: api.whoami,
  staleTime: Number.POSITIVE_INFINITY,
  retry: false,
})
export const plans = queryOptions({ queryKey: ['plans'], queryFn: () => api.listPlans() })
/** As somebody asks for them: `plans` when they ask for nothing. */
export const plansBy = (asked: api.PlansAsked) =>
  queryOptions({
    queryKey: Object.keys(asked).length === 0 ? ['plans'] : ['plans', asked],
    queryFn: () => api.listPlans(asked),
    placeholderData: (before: readonly api.PlanRow[] | undefined) => before,
  })
export const inbox = queryOptions({ queryKey: ['inbox'], queryFn: api.listInbox })
export const templates = queryOptions({ queryKey: ['templates'], queryFn: api.listTemplates })

export const useIdentity = () => useQuery(identity).data
export const useInbox = () => useQuery(inbox)

/** May this person do it? The service decides; the page only leaves out what it would refuse. */
export function useRights(): { readonly operate: boolean; readonly decide: boolean } {
  const role = useIdentity()?.role ?? 'viewer'
  return { operate: role === 'operator' || role === 'admin', decide: role === 'approver' || role === 'admin' }
}
