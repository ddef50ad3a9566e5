// The overview of one task: what it asks, why it failed, what it runs, its criteria, and the tasks around it.

import { Link } from '@tanstack/react-router'
import { aimHint } from '../../src/domain/hint.ts'
import type { InboxEntry } from '../data/api.ts'
import type { LivePlan } from '../data/live.ts'
import type { TaskDetail, TaskView } from '../data/live-messages.ts'
import { useIdentity } from '../data/queries.ts'
import { TaskLog } from '../log/task-log.tsx'
import { CommandLine, commandOf } from '../parts/command.tsx'
import { Glyph, signOf } from '../parts/glyph.tsx'
import { HintText } from '../parts/hint-text.tsx'
import { asksWord, lookWord } from '../parts/words.ts'
import { TerminalText } from '../terminal/terminal-text.tsx'
import { ActionShown } from './action-shown.tsx'
import { Criteria } from './criteria.tsx'
import { LetAgent } from './let-agent.tsx'

export function TaskOverview({
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
      {failure !== null && isFailureShown(view) && (
        <section>
          <h3>{view.look === 'retrying' ? 'Why the last attempt failed' : 'Why it failed'}</h3>
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
      {!isSettled && (failure === null || !isFailureShown(view)) && waiting === null && !detail.claimable && (
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

/** The failure of the last attempt, until the next one begins. */
const isFailureShown = ({ status, look }: TaskView): boolean =>
  status === 'failed' || status === 'waiting' || look === 'retrying'

/** How many lines of the agent's work are shown beside its instruction. */
const WORK_TAIL = 12

/** Questions of a working agent are answered in the inbox. */
export const askedBy = (waiting: InboxEntry | null): string | null =>
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
