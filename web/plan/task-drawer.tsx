// One task beside the plan: definition, state, output, changes and attempts. A bottom sheet on phones.

import '../styles/drawer.css'
import { Link, useSearch } from '@tanstack/react-router'
import { FoldVertical, RotateCcw, SkipForward, UnfoldVertical, X } from 'lucide-react'
import { Fragment } from 'react'
import { aimHint } from '../../src/domain/hint.ts'
import { decisionWords } from '../../src/domain/network-decision.ts'
import { type InboxEntry, orderTask } from '../data/api.ts'
import { type LivePlan, useConnection, useTaskDetail } from '../data/live.ts'
import type { TaskDetail } from '../data/live-messages.ts'
import { useIdentity, useRights } from '../data/queries.ts'
import { TaskLog } from '../log/task-log.tsx'
import { Button } from '../parts/button.tsx'
import { useNow } from '../parts/clock.ts'
import { CommandLine, commandOf } from '../parts/command.tsx'
import { useConfirm } from '../parts/confirm.tsx'
import { EntryLink } from '../parts/entry-link.tsx'
import { Glyph, signOf } from '../parts/glyph.tsx'
import { HintText } from '../parts/hint-text.tsx'
import { Empty, Skeleton, Trouble } from '../parts/states.tsx'
import { attempt } from '../parts/toasts.tsx'
import { asksWord, clock, dateOf, dollars, lookWord, span, took } from '../parts/words.ts'
import { TABS, type Tab } from '../router.tsx'
import { TerminalText } from '../terminal/terminal-text.tsx'
import { ActionShown } from './action-shown.tsx'
import { Changes, useTaskPage } from './changes.tsx'
import { Criteria } from './criteria.tsx'
import { LetAgent } from './let-agent.tsx'
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
          <Overview plan={plan} detail={detail} waiting={waiting} onOpen={onOpen} />
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
          <Data detail={detail} />
        ) : (
          <Attempts plan={plan.head.id} name={name} detail={detail} />
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

function TaskVerbs({ plan, detail }: { readonly plan: string; readonly detail: TaskDetail }) {
  const { operate } = useRights()
  const isAway = useConnection().is === 'away'
  const [confirm, dialog] = useConfirm()
  const { name, status } = detail.view
  if (!operate) return null
  const retry = async (): Promise<void> => {
    const confirmed = await confirm({
      title: `Run ${name} again?`,
      text: 'This task and the tasks that need it run again. Other tasks are kept.',
      yes: 'Retry',
    })
    if (confirmed !== null) await attempt(() => orderTask(plan, name, 'retry'), `${name} runs again`)
  }
  const skip = async (): Promise<void> => {
    const confirmed = await confirm({
      title: `Skip ${name}?`,
      text: 'Tasks that need it continue without it.',
      yes: 'Skip',
      reason: 'Why',
      isReasonNeeded: true,
    })
    if (confirmed !== null)
      await attempt(() => orderTask(plan, name, 'skip', { reason: confirmed.reason }), `${name} is skipped`)
  }
  const mayRetry = ['completed', 'failed', 'skipped', 'cancelled', 'abandoned'].includes(status)
  const maySkip = ['pending', 'ready', 'failed', 'blocked', 'waiting'].includes(status)
  return (
    <>
      {maySkip && (
        <Button kind="small" icon={SkipForward} disabled={isAway} onClick={() => void skip()}>
          Skip
        </Button>
      )}
      {mayRetry && (
        <Button kind="small" icon={RotateCcw} disabled={isAway} onClick={() => void retry()}>
          Retry
        </Button>
      )}
      {dialog}
    </>
  )
}

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

function Overview({
  plan,
  detail,
  waiting,
  onOpen,
}: {
  readonly plan: LivePlan
  readonly detail: TaskDetail
  readonly waiting: InboxEntry | null
  readonly onOpen: (task: string) => void
}) {
  const { definition, failure, view, feedback } = detail
  const me = useIdentity()?.actor ?? 'NAME'
  const isAgent = view.action === 'agent'
  const isSettled = view.status === 'completed' || view.status === 'running'
  return (
    <>
      {waiting !== null && (
        <section className="drawer-ask">
          <p>
            <b>{asksWord(waiting.asks.type)}</b>
            {waiting.asks.type === 'agent-question' && <span>{waiting.asks.text}</span>}
          </p>
          <Link to="/inbox/$id" params={{ id: waiting.id }} className="button main small">
            Review
          </Link>
        </section>
      )}
      {failure !== null && view.status !== 'completed' && (
        <section>
          <h3>Why it failed</h3>
          <div className="trouble">
            <div>
              <p className="printed">
                <TerminalText text={failure.message} />
              </p>
              <p className="dim">
                {failure.class}
                {failure.code === undefined ? '' : `, ${failure.code}`}
              </p>
              {failure.hint !== undefined && (
                <HintText hint={aimHint(failure.hint, { plan: plan.head.name, task: view.name })} />
              )}
            </div>
          </div>
        </section>
      )}
      {!isSettled && failure === null && waiting === null && !detail.claimable && (
        <section>
          <p className="dim">{detail.why}</p>
        </section>
      )}
      {detail.claimable && (
        <section>
          <LetAgent plan={plan} task={view.name} />
          <p>It is waiting for an agent or a person to claim it. In a terminal, with your name:</p>
          <CommandLine command={commandOf('claim', plan.head.name, view.name, '--as', me)} />
        </section>
      )}
      {isAgent && view.attempt > 0 && (
        <section className="drawer-log">
          <h3>Work</h3>
          <TaskLog
            plan={plan.head.id}
            task={view.name}
            look={view.look}
            tail={WORK_TAIL}
            isAgent
            asks={askedBy(waiting)}
          />
        </section>
      )}
      {definition.description !== undefined && (
        <section>
          <p className="prose">{definition.description}</p>
        </section>
      )}
      {definition.rationale !== undefined && (
        <section>
          <h3>Why</h3>
          <p className="prose">{definition.rationale}</p>
        </section>
      )}
      <ActionShown definition={definition} />
      <TextLines title="Assumes" lines={definition.assumptions ?? []} />
      <TextLines title="Risks" lines={definition.risks ?? []} />
      {feedback.length > 0 && (
        <section>
          <h3>Feedback</h3>
          {feedback.map(({ by, text }) => (
            <blockquote key={`${by}${text}`}>
              {text} <span className="dim">{by}</span>
            </blockquote>
          ))}
        </section>
      )}
      <Criteria definition={definition} verdicts={detail.verdicts} />
      <TaskNames title="Needs" names={view.needs} plan={plan} onOpen={onOpen} />
      <TaskNames title="Needed by" names={detail.dependants} plan={plan} onOpen={onOpen} />
      <TaskNames title="In it" names={view.children ?? []} plan={plan} onOpen={onOpen} />
      {view.attempt > 0 && view.children === null && view.action !== 'gate' && !isAgent && (
        <section className="drawer-log">
          <h3>Log</h3>
          <TaskLog plan={plan.head.id} task={view.name} look={view.look} tail={14} />
        </section>
      )}
    </>
  )
}

/** How many lines of the agent's work are shown beside its instruction. */
const WORK_TAIL = 12

/** Questions of a working agent are answered in the inbox. */
const askedBy = (waiting: InboxEntry | null): string | null =>
  waiting?.asks.type === 'agent-question' ? waiting.id : null

function TextLines({ title, lines }: { readonly title: string; readonly lines: readonly string[] }) {
  if (lines.length === 0) return null
  return (
    <section>
      <h3>{title}</h3>
      {lines.map(line => (
        <p key={line} className="prose">
          {line}
        </p>
      ))}
    </section>
  )
}

const NAMES_MAX = 12

function TaskNames({
  title,
  names,
  plan,
  onOpen,
}: {
  readonly title: string
  readonly names: readonly string[]
  readonly plan: LivePlan
  readonly onOpen: (task: string) => void
}) {
  if (names.length === 0) return null
  return (
    <section>
      <h3>{title}</h3>
      <ul className="names">
        {names.slice(0, NAMES_MAX).map(name => {
          const task = plan.byName.get(name)
          return (
            <li key={name}>
              <button type="button" className="chip" onClick={() => onOpen(name)}>
                {task !== undefined && <Glyph sign={signOf(task)} size={13} label={lookWord(task.look)} />}
                <span className="mono">{name}</span>
              </button>
            </li>
          )
        })}
        {names.length > NAMES_MAX && <li className="dim">and {names.length - NAMES_MAX} more</li>}
      </ul>
    </section>
  )
}

function Data({ detail }: { readonly detail: TaskDetail }) {
  const { definition, outputs } = detail
  const parts: readonly (readonly [string, unknown])[] = [
    ['Inputs', definition.inputs],
    ['Outputs', outputs],
    ['Outcome', detail.outcome ?? undefined],
    ['Exit code', detail.exit ?? undefined],
    ['Model', detail.model ?? undefined],
    ['May write', definition.write],
    ['Definition', definition],
  ]
  return parts.map(([title, value]) =>
    value === undefined || value === null ? null : (
      <section key={title}>
        <h3>{title}</h3>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so it must be reached by keys. */}
        <pre className="block" tabIndex={0}>
          {typeof value === 'string' ? value : JSON.stringify(value, null, 2)}
        </pre>
      </section>
    ),
  )
}

function Attempts({ plan, name, detail }: Readonly<{ plan: string; name: string; detail: TaskDetail }>) {
  const { attempt: wanted, visit: wantedVisit } = useSearch({ from: '/plans/$plan' })
  const { data, error } = useTaskPage(plan, detail)
  if (error !== null) return <Trouble error={error} />
  if (data === undefined) return <Skeleton height={60} />
  if (data.attempts.length === 0 && data.decisions.length === 0) return <Empty title="No attempts yet" />
  return (
    <>
      <ul className="attempts">
        {data.attempts.toReversed().map(one => (
          <li
            key={`${one.visit}.${one.attempt}`}
            className={one.attempt === wanted && (wantedVisit ?? one.visit) === one.visit ? 'wanted' : ''}
          >
            <Glyph
              sign={one.status === 'succeeded' ? 'completed' : one.status === 'lost' ? 'lost' : one.status}
              label={one.status}
            />
            <Link
              to="/plans/$plan"
              params={{ plan: name }}
              search={before => ({ ...before, tab: 'attempts', attempt: one.attempt, visit: one.visit })}
              replace
              className="link"
            >
              Attempt {one.attempt}
              {one.visit > 1 && <Fragment> of visit {one.visit}</Fragment>}
            </Link>
            <span className="dim">
              {[
                one.by,
                one.exit === null ? null : `exit ${one.exit}`,
                one.used?.cost == null ? null : `${dollars(one.used.cost)}${one.used.reported ? ' (reported)' : ''}`,
              ]
                .filter(Boolean)
                .join(', ')}
            </span>
            <span className="space" />
            {one.paths !== null && one.paths > 0 && (
              <Link
                to="/plans/$plan"
                params={{ plan: name }}
                search={before => ({ ...before, tab: 'changes', attempt: one.attempt, visit: one.visit })}
                replace
                className="link num"
              >
                {one.paths} changed
              </Link>
            )}
            <span className="num dim" title={dateOf(Date.parse(one.started_at))}>
              {one.duration_ms === null ? '' : took(one.duration_ms)}
            </span>
            <EntryLink plan={name} entry={one.entry} />
            {(one.failure !== null || one.lost !== null) && (
              <p className="dim">
                <TerminalText text={one.failure?.message ?? one.lost ?? ''} />
              </p>
            )}
            {one.beside.map(line => (
              <p key={line} className="dim">
                {line}
              </p>
            ))}
            {one.programs.length > 0 && <p className="dim">Ran with {one.programs.join(', ')}</p>}
            {one.network.map(asked => (
              <p key={decisionWords(asked)} className="dim">
                {decisionWords(asked)}
              </p>
            ))}
          </li>
        ))}
      </ul>
      {data.lessons.length > 0 && (
        <section>
          <h3>Lessons</h3>
          {data.lessons.toReversed().map(one => (
            <blockquote key={`${one.entry} ${one.text}`}>
              {one.text}{' '}
              <span className="dim">
                {one.by}, about attempt {one.attempt}
                {one.visit > 1 && <Fragment> of visit {one.visit}</Fragment>}, {dateOf(Date.parse(one.at))},{' '}
                <EntryLink plan={name} entry={one.entry} />
              </span>
            </blockquote>
          ))}
        </section>
      )}
      {data.decisions.length > 0 && (
        <section>
          <h3>Decided</h3>
          {data.decisions.toReversed().map(one => (
            <blockquote key={one.entry}>
              <b>{one.verdict}</b> {one.rationale}{' '}
              <span className="dim">
                {one.by}, {dateOf(Date.parse(one.at))}, <EntryLink plan={name} entry={one.entry} />
              </span>
            </blockquote>
          ))}
        </section>
      )}
    </>
  )
}
