// One task beside the plan: definition, state, output, changes and attempts. A bottom sheet on phones.

import '../styles/drawer.css'
import { Link, useSearch } from '@tanstack/react-router'
import { FoldVertical, UnfoldVertical, X } from 'lucide-react'
import type { InboxEntry } from '../data/api.ts'
import { type LivePlan, useTaskDetail } from '../data/live.ts'
import type { TaskDetail } from '../data/live-messages.ts'
import { TaskLog } from '../log/task-log.tsx'
import { useNow } from '../parts/clock.ts'
import { Glyph, signOf } from '../parts/glyph.tsx'
import { Empty, Skeleton } from '../parts/states.tsx'
import { clock, dollars, lookWord, span, took } from '../parts/words.ts'
import { TABS, type Tab } from '../router.tsx'
import { Changes } from './changes.tsx'
import { TaskAttempts } from './task-attempts.tsx'
import { TaskData } from './task-data.tsx'
import { askedBy, TaskOverview } from './task-overview.tsx'
import { TaskVerbs } from './task-verbs.tsx'
import { Tries } from './tries.tsx'

const TAB_WORDS: { readonly [tab in Tab]: string } = {
  overview: 'Overview',
  changes: 'Changes',
  log: 'Log',
  data: 'Data',
  attempts: 'Attempts',
}

export interface DrawerProps {
  readonly plan: LivePlan
  readonly name: string
  readonly task: string
  readonly waiting: InboxEntry | null
  readonly isFolded: boolean
  readonly onClose: () => void
  readonly onOpen: (task: string) => void
  readonly onFold: (group: string) => void
}

export function TaskDrawer({ plan, name, task, waiting, isFolded, onClose, onOpen, onFold }: DrawerProps) {
  const detail = useTaskDetail(name, task)
  const { tab = 'overview' } = useSearch({ from: '/plans/$plan' })
  const view = plan.byName.get(task)
  const FoldIcon = isFolded ? UnfoldVertical : FoldVertical
  if (view === undefined || detail === null)
    return (
      <aside className="drawer" aria-label={task}>
        <header>
          <div className="drawer-row">
            <h2 className="mono">{task}</h2>
            <span className="space" />
            <CloseButton onClose={onClose} />
          </div>
        </header>
        <div className="drawer-scroll">
          <Empty title="There is no such task">
            <p>A revision may have removed it.</p>
          </Empty>
        </div>
      </aside>
    )
  return (
    <aside className="drawer" aria-label={task}>
      <span className="grab" aria-hidden="true" />
      <header>
        <div className="drawer-row">
          <Glyph sign={signOf(view)} label={lookWord(view.look)} />
          <h2 className="mono" title={task}>
            {task}
          </h2>
          <span className="space" />
          {view.children !== null && (
            <button
              type="button"
              className="icon-button"
              aria-label={isFolded ? 'Unfold the group' : 'Fold the group'}
              onClick={() => onFold(task)}
            >
              <FoldIcon size={15} aria-hidden="true" />
            </button>
          )}
          {detail !== undefined && <TaskVerbs plan={plan.head.name} detail={detail} />}
          <CloseButton onClose={onClose} />
        </div>
        {view.title !== null && <p>{view.title}</p>}
        {detail !== undefined && <Facts detail={detail} />}
      </header>
      <nav className="drawer-tabs" aria-label="About this task">
        {TABS.map(one => (
          <Link
            key={one}
            to="/plans/$plan"
            params={{ plan: name }}
            search={({ tab: _, line: __, attempt: ___, visit: ____, ...rest }) =>
              one === 'overview' ? rest : { ...rest, tab: one }
            }
            replace
            className={one === tab ? 'on' : ''}
            aria-current={one === tab ? 'page' : undefined}
          >
            {TAB_WORDS[one]}
            {one === 'changes' && detail?.wrotePaths != null && detail.wrotePaths > 0 && <s>{detail.wrotePaths}</s>}
            {one === 'attempts' && view.attempt > 0 && <s>{view.attempt}</s>}
          </Link>
        ))}
      </nav>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so it must be reached by keys. */}
      <div className="drawer-scroll" tabIndex={0}>
        {detail === undefined ? (
          <Skeleton height={80} />
        ) : tab === 'overview' ? (
          <TaskOverview plan={plan} detail={detail} waiting={waiting} onOpen={onOpen} />
        ) : tab === 'changes' ? (
          <>
            {detail.race !== null && <Tries plan={plan.head.id} detail={detail} race={detail.race} />}
            <Changes plan={plan.head.id} detail={detail} />
          </>
        ) : tab === 'log' ? (
          <TaskLog
            plan={plan.head.id}
            task={task}
            look={view.look}
            isAgent={view.action === 'agent'}
            asks={askedBy(waiting)}
          />
        ) : tab === 'data' ? (
          <TaskData plan={plan.head.id} detail={detail} />
        ) : (
          <TaskAttempts plan={plan.head.id} name={name} detail={detail} />
        )}
      </div>
    </aside>
  )
}

const CloseButton = ({ onClose }: { readonly onClose: () => void }) => (
  <button type="button" className="icon-button" aria-label="Close" title="Close (Esc)" onClick={onClose}>
    <X size={16} aria-hidden="true" />
  </button>
)

function Facts({ detail }: { readonly detail: TaskDetail }) {
  const now = useNow()
  const { view } = detail
  const time =
    view.look === 'running' && view.startedAt !== null
      ? (['Running', clock(now - view.startedAt)] as const)
      : view.since !== null && view.status === 'waiting'
        ? (['Waits', span(now - view.since)] as const)
        : view.startedAt !== null && view.endedAt !== null
          ? (['Took', took(view.endedAt - view.startedAt)] as const)
          : (['State', lookWord(view.look)] as const)
  const attempts = view.attempt === 0 ? '–' : `${view.attempt} of ${Math.max(view.attempt, detail.attemptsMax)}`
  const cost = detail.cost === null ? [] : ([['Cost', dollars(detail.cost)]] as const)
  return (
    <dl>
      {[time, ['Attempt', attempts] as const, ['Effect', detail.effect] as const, ...cost].map(([term, text]) => (
        <div key={term}>
          <dt>{term}</dt>
          <dd>{text}</dd>
        </div>
      ))}
    </dl>
  )
}
