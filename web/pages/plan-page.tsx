// One plan: state, inbox, and tasks as a graph, a board or an outline, with one task open beside them.

import '../styles/plan.css'
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { Maximize, Minus, Plus } from 'lucide-react'
import { lazy, Suspense, useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { type LivePlan, useLivePlan } from '../data/live.ts'
import { useInbox } from '../data/queries.ts'
import { focusOf } from '../graph/graph-keys.ts'
import { type GraphHandle, GraphView, useCritical } from '../graph/graph-view.tsx'
import { isPlain } from '../parts/shell.tsx'
import { AwayBar, Empty, Skeleton } from '../parts/states.tsx'
import { span } from '../parts/words.ts'
import { DraftShown } from '../plan/draft-shown.tsx'
import { LetAgent } from '../plan/let-agent.tsx'
import { Outline } from '../plan/outline.tsx'
import { PlanHead } from '../plan/plan-head.tsx'
import { usePlanState } from '../plan/plan-state.ts'
import { WaitingStrip } from '../plan/waiting-strip.tsx'
import { VIEWS, type View } from '../router.tsx'

const Board = lazy(() => import('../plan/board.tsx'))
const Checkpoints = lazy(() => import('../plan/checkpoints.tsx'))
const History = lazy(() => import('../plan/history.tsx'))
const TaskDrawer = lazy(async () => ({ default: (await import('../plan/task-drawer.tsx')).TaskDrawer }))

const VIEW_WORDS: { readonly [view in View]: string } = {
  graph: 'Graph',
  board: 'Board',
  outline: 'Outline',
  checkpoints: 'Checkpoints',
  history: 'History',
}
const FOLDED_FROM = 40

export default function PlanPage() {
  const { plan: name } = useParams({ from: '/plans/$plan' })
  const plan = useLivePlan(name)
  useEffect(() => {
    document.title = `${plan === undefined || plan === 'missing' ? name : plan.head.name} · Planfold`
  }, [plan, name])
  if (plan === undefined)
    return (
      <main aria-busy="true">
        <header className="top">
          <Skeleton height={20} width={280} />
        </header>
        <div className="loading">
          <Skeleton height={48} width={168} />
          <Skeleton height={48} width={168} />
          <Skeleton height={48} width={168} />
        </div>
      </main>
    )
  if (plan === 'missing')
    return (
      <main>
        <Empty title="There is no such plan">
          <p>
            There is no plan named <code>{name}</code>, or you may not see it.
          </p>
          <Link to="/" className="button">
            All plans
          </Link>
        </Empty>
      </main>
    )
  return <PlanShown key={plan.head.id} name={name} plan={plan} />
}

/** As in the style sheets: narrow, and high enough for a dock. */
const isNarrow = (): boolean => matchMedia(NARROW).matches
const NARROW = '(max-width: 560px), (max-width: 760px) and (min-height: 521px)'

function PlanShown({ name, plan: live }: { readonly name: string; readonly plan: LivePlan }) {
  const state = usePlanState(live)
  const isInterrupted = state.word === 'interrupted'
  const plan = useMemo(() => (isInterrupted ? withInterrupted(live) : live), [live, isInterrupted])
  const search = useSearch({ from: '/plans/$plan' })
  const navigate = useNavigate({ from: '/plans/$plan' })
  const view: View = search.view ?? (isNarrow() ? 'outline' : 'graph')
  // Opens a failed or waiting task, once.
  const [first, setFirst] = useState(() =>
    search.task !== undefined || view !== 'graph' || isNarrow() ? null : troubled(plan),
  )
  const selected = search.task ?? first
  const graph = useRef<GraphHandle>(null)
  const [scale, setScale] = useState(1)
  const [folded, setFolded] = useState<ReadonlySet<string>>(() =>
    plan.tasks.length < FOLDED_FROM
      ? new Set()
      : new Set(plan.tasks.flatMap(({ name, children }) => (children === null ? [] : [name]))),
  )
  const critical = useCritical(plan)
  const inbox = useInbox().data
  const waiting = useMemo(() => (inbox ?? []).filter(item => item.plan === plan.head.id), [inbox, plan.head.id])
  const open = useCallback(
    (task: string | null) =>
      void navigate({
        search: ({ task: _, tab, line: __, attempt: ___, visit: ____, ...rest }) =>
          task === null ? rest : { ...rest, task, ...(tab === undefined ? {} : { tab }) },
        replace: true,
      }),
    [navigate],
  )
  const fold = useCallback(
    (group: string) =>
      setFolded(before => {
        const next = new Set(before)
        if (!next.delete(group)) next.add(group)
        return next
      }),
    [],
  )
  useEffect(() => {
    if (first === null) return
    open(first)
    setFirst(null)
  }, [first, open])
  useKeys({ plan, selected, open, view, graph })
  return (
    <main>
      <PlanHead plan={plan} state={state} />
      <AwayBar />
      {plan.head.people.length > 0 && <p className="people dim">{plan.head.people.join(' · ')}</p>}
      <WaitingStrip items={waiting} />
      <LetAgent plan={plan} task={null} />
      {plan.head.draft !== null && <DraftShown draft={plan.head.draft} />}
      <div className="views">
        <nav className="tabs" aria-label="Views">
          {VIEWS.map(one => (
            <Link
              key={one}
              to="/plans/$plan"
              params={{ plan: name }}
              search={({ view: _, entry: __, before: ___, ...rest }) => ({ ...rest, view: one })}
              className={one === view ? 'on' : ''}
              aria-current={one === view ? 'page' : undefined}
            >
              {VIEW_WORDS[one]}
            </Link>
          ))}
        </nav>
        <span className="space" />
        {view === 'graph' && (
          <>
            {critical.edges.size > 0 && (
              <span className="legend wide">
                <i />
                critical path{' '}
                {critical.leftMs === null || critical.leftMs < 10_000 || plan.head.endedAt !== null ? (
                  ''
                ) : (
                  <b>{span(critical.leftMs)} left</b>
                )}
              </span>
            )}
            <fieldset className="zoom" aria-label="Zoom">
              <button type="button" aria-label="Smaller" onClick={() => graph.current?.zoomBy(1 / 1.25)}>
                <Minus size={14} aria-hidden="true" />
              </button>
              <span>{Math.round(scale * 100)}%</span>
              <button type="button" aria-label="Larger" onClick={() => graph.current?.zoomBy(1.25)}>
                <Plus size={14} aria-hidden="true" />
              </button>
              <button
                type="button"
                aria-label="Fit to screen (f)"
                title="Fit to screen (f)"
                onClick={() => graph.current?.fit()}
              >
                <Maximize size={13} aria-hidden="true" />
              </button>
            </fieldset>
          </>
        )}
      </div>
      <div className={selected === null ? 'stage' : 'stage with-drawer'}>
        {view === 'graph' && (
          <GraphView
            ref={graph}
            plan={plan}
            selected={selected}
            folded={folded}
            critical={critical}
            onSelect={open}
            onFold={fold}
            onScale={setScale}
          />
        )}
        {view === 'outline' && <Outline plan={plan} selected={selected} onSelect={open} />}
        <Suspense fallback={<div />}>
          {view === 'board' && <Board plan={plan} selected={selected} onSelect={open} />}
          {view === 'checkpoints' && <Checkpoints plan={plan} />}
          {view === 'history' && <History plan={plan} name={name} onSelect={open} />}
        </Suspense>
        {selected !== null && (
          <Suspense fallback={<aside className="drawer" aria-busy="true" />}>
            <TaskDrawer
              plan={plan}
              name={name}
              task={selected}
              waiting={waiting.find(item => item.task === selected) ?? null}
              onClose={() => open(null)}
              onOpen={open}
              onFold={fold}
              isFolded={folded.has(selected)}
            />
          </Suspense>
        )}
      </div>
    </main>
  )
}

function troubled(plan: LivePlan): string | null {
  const task = plan.byName.get(focusOf(plan.tasks) ?? '')
  return task !== undefined && ['failed', 'waiting', 'lost'].includes(task.look) ? task.name : null
}

/** A task whose process died must not look running. */
function withInterrupted(plan: LivePlan): LivePlan {
  const tasks = plan.tasks.map(task =>
    task.look === 'running' && task.by === null ? { ...task, look: 'interrupted' as const } : task,
  )
  return { ...plan, tasks, byName: new Map(tasks.map(task => [task.name, task])) }
}

function useKeys({
  plan,
  selected,
  open,
  view,
  graph,
}: {
  readonly plan: LivePlan
  readonly selected: string | null
  readonly open: (task: string | null) => void
  readonly view: View
  readonly graph: React.RefObject<GraphHandle | null>
}): void {
  useEffect(() => {
    const key = (event: KeyboardEvent): void => {
      if (!isPlain(event)) return
      if (event.key === 'Escape' && selected !== null) open(null)
      else if (event.key === 'f' && view === 'graph') graph.current?.fit()
      else if (event.key === '+' && view === 'graph') graph.current?.zoomBy(1.25)
      else if (event.key === '-' && view === 'graph') graph.current?.zoomBy(1 / 1.25)
      else if (event.key === 'j' || event.key === 'k') {
        const at = plan.tasks.findIndex(({ name }) => name === selected)
        const next = plan.tasks[Math.min(plan.tasks.length - 1, Math.max(0, at + (event.key === 'j' ? 1 : -1)))]
        if (next !== undefined) {
          open(next.name)
          graph.current?.show(next.name)
        }
      } else return
      event.preventDefault()
    }
    addEventListener('keydown', key)
    return () => removeEventListener('keydown', key)
  }, [plan, selected, open, view, graph])
}
