// Routes of the web UI. Each page is a file of its own, loaded on demand.

import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from '@tanstack/react-router'
import { defined } from '../src/domain/json.ts'
import { Shell } from './parts/shell.tsx'
import { Broken, Empty } from './parts/states.tsx'

const root = createRootRoute({
  component: Shell,
  notFoundComponent: () => (
    <main>
      <Empty title="Page not found">
        <a className="button" href="/ui/">
          All plans
        </a>
      </Empty>
    </main>
  ),
})

export const VIEWS = ['graph', 'board', 'outline', 'checkpoints', 'history'] as const
export type View = (typeof VIEWS)[number]
export const TABS = ['overview', 'changes', 'log', 'data', 'attempts'] as const
export type Tab = (typeof TABS)[number]

const SORTS = ['updated', 'name', 'cost'] as const
const SINCE = ['day', 'week', 'month'] as const

export interface PlansSearch {
  readonly q?: string
  readonly status?: string
  readonly sort?: (typeof SORTS)[number]
  readonly since?: (typeof SINCE)[number]
}
/** The selected view, task, tab, attempt, log line and journal entry. */
export interface PlanSearch {
  readonly view?: View
  readonly entry?: number
  /** History: only entries before this one. */
  readonly before?: number
  readonly task?: string
  readonly tab?: Tab
  readonly line?: number
  readonly attempt?: number
  readonly visit?: number
}
export interface NewSearch {
  readonly from?: 'goal' | 'template' | 'text'
  readonly template?: string
}

const text = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined)
const oneOf = <T extends string>(all: readonly T[], value: unknown): T | undefined => all.find(one => one === value)
const whole = (value: unknown): number | undefined => (Number.isSafeInteger(value) ? (value as number) : undefined)
const plans = createRoute({
  getParentRoute: () => root,
  path: '/',
  validateSearch: (search: Record<string, unknown>): PlansSearch =>
    defined({
      q: text(search.q),
      status: text(search.status),
      sort: oneOf(SORTS, search.sort),
      since: oneOf(SINCE, search.since),
    }) as PlansSearch,
  component: lazyRouteComponent(() => import('./pages/plans-page.tsx')),
})
const plan = createRoute({
  getParentRoute: () => root,
  path: '/plans/$plan',
  validateSearch: (search: Record<string, unknown>): PlanSearch =>
    defined({
      view: oneOf(VIEWS, search.view) ?? (whole(search.entry) === undefined ? undefined : 'history'),
      entry: whole(search.entry),
      before: whole(search.before),
      task: text(search.task),
      tab: oneOf(TABS, search.tab),
      line: whole(search.line),
      attempt: whole(search.attempt),
      visit: whole(search.visit),
    }) as PlanSearch,
  component: lazyRouteComponent(() => import('./pages/plan-page.tsx')),
})
const inbox = createRoute({
  getParentRoute: () => root,
  path: '/inbox',
  component: lazyRouteComponent(() => import('./pages/inbox-page.tsx')),
})
const inboxItem = createRoute({
  getParentRoute: () => root,
  path: '/inbox/$id',
  component: lazyRouteComponent(() => import('./pages/inbox-page.tsx')),
})
const create = createRoute({
  getParentRoute: () => root,
  path: '/new',
  validateSearch: (search: Record<string, unknown>): NewSearch =>
    defined({
      from: oneOf(['goal', 'template', 'text'] as const, search.from),
      template: text(search.template),
    }) as NewSearch,
  component: lazyRouteComponent(() => import('./pages/new-page.tsx')),
})

export const router = createRouter({
  routeTree: root.addChildren([plans, plan, inbox, inboxItem, create]),
  basepath: '/ui',
  defaultPreload: 'intent',
  defaultErrorComponent: Broken,
  scrollRestoration: false,
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
