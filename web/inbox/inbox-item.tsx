// One request: who asks, since when, what an answer starts, and the possible answers. It shows what was stored when the request
// was made, and an answer is bound to its hash, so a person cannot agree to anything else.

import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { lazy, Suspense, useEffect, useRef, useState } from 'react'
import { aimHint } from '../../src/domain/hint.ts'
import { spelled } from '../../src/domain/views/pages/foreign-text.ts'
import { type AnswerBody, answerInbox, approveWithEdits, gatePage, type InboxEntry } from '../data/api.ts'
import { useConnection, useLivePlan } from '../data/live.ts'
import { plans, queryClient, useRights } from '../data/queries.ts'
import { Button } from '../parts/button.tsx'
import { useNow } from '../parts/clock.ts'
import { withKey } from '../parts/command.tsx'
import type { LineComments } from '../parts/diff.tsx'
import { Glyph } from '../parts/glyph.tsx'
import { HintText } from '../parts/hint-text.tsx'
import { isPlain } from '../parts/shell.tsx'
import { Skeleton, Trouble } from '../parts/states.tsx'
import { asksWord, count, dateOf, span } from '../parts/words.ts'
import { Verdicts } from '../plan/criteria.tsx'
import type { Answer } from './answer-result.tsx'
import { ConsentShown } from './consent-shown.tsx'
import { ProposalShown } from './proposal-shown.tsx'
import { AskedForm, emptyAnswers } from './question-form.tsx'

const EditPlan = lazy(() => import('../plan/edit-plan.tsx'))
const BackDialog = lazy(async () => ({ default: (await import('../plan/checkpoints.tsx')).BackDialog }))

const ANSWERS: {
  readonly [answer: string]: {
    readonly word: string
    readonly key?: string
    readonly needsWhy?: boolean
    readonly isMain?: boolean
    readonly isDanger?: boolean
  }
} = {
  approve: { word: 'Approve', key: 'a', isMain: true },
  accept: { word: 'Accept', key: 'a', isMain: true },
  answer: { word: 'Answer', isMain: true },
  choose: { word: 'Choose', isMain: true },
  done: { word: 'Done', key: 'd', isMain: true },
  claim: { word: 'Claim', key: 'c', isMain: true },
  again: { word: 'Try again', key: 't', isMain: true },
  'push-back': { word: 'Push back', key: 'b', needsWhy: true },
  skip: { word: 'Skip', key: 's', needsWhy: true },
  fail: { word: 'Failed', needsWhy: true, isDanger: true },
  decline: { word: 'Decline', key: 'r', needsWhy: true },
  leave: { word: 'Leave it', needsWhy: true },
  reject: { word: 'Reject', key: 'r', isDanger: true },
  keep: { word: 'Keep the edits' },
  take: { word: "Take the checkpoint's version" },
  merge: { word: 'Merge both versions' },
}

/** No answer is accepted before the request is drawn, nor from a key that is held down. */
export function AskedItem({ item, onAnswer }: Readonly<{ item: InboxEntry; onAnswer: (answer: Answer) => void }>) {
  const { asks, task, name, title } = item
  const now = useNow()
  const row = useQuery(plans).data?.rows.find(({ id }) => id === item.plan)
  const of = row?.title ?? row?.goal ?? null
  const gate = useGate(item)
  const drawn = useRef<HTMLElement>(null)
  const connection = useConnection()
  const [why, setWhy] = useState('')
  const [lineTexts, setLineTexts] = useState<ReadonlyMap<string, string>>(new Map())
  const comments: LineComments = {
    texts: lineTexts,
    say: (place, text) =>
      setLineTexts(before => {
        const next = new Map(before)
        if (text === null) next.delete(place)
        else next.set(place, text)
        return next
      }),
  }
  const [option, setOption] = useState<string | null>(null)
  const [form, setForm] = useState(() => emptyAnswers(formOf(item)))
  const [busy, setBusy] = useState(false)
  const [isEditing, setEditing] = useState(false)
  const [isUndoing, setUndoing] = useState(false)
  const { operate } = useRights()
  const mayUndo = operate && asks.type === 'approval' && (asks.gate === 'diff' || asks.show.includes('diff'))
  const [error, setError] = useState<unknown>(null)
  const [lacksWhy, setLacksWhy] = useState(false)
  const answered = async (came: Answer['came']): Promise<void> => {
    onAnswer({ item, came })
    await queryClient.invalidateQueries({ queryKey: ['inbox'] })
  }
  const give = async (answer: string): Promise<void> => {
    const needsWhy = ANSWERS[answer]?.needsWhy === true
    // Comments on single lines are sent together with the general comment.
    const rationale = [why.trim(), ...[...lineTexts].map(([place, text]) => `${place}: ${text.trim()}`)]
      .filter(Boolean)
      .join('\n')
    if (needsWhy && rationale === '') {
      setLacksWhy(true)
      document.getElementById('why')?.focus()
      return
    }
    const hash = hashOf(item)
    const body: AnswerBody = {
      answer,
      ...(rationale === '' ? {} : { rationale }),
      ...(hash === null ? {} : { hash }),
      ...(answer === 'choose' && option !== null ? { option } : {}),
      ...(answer === 'answer' ? { answers: form } : {}),
    }
    setBusy(true)
    setError(null)
    try {
      await answered({ told: (await answerInbox(item.id, body)).told })
    } catch (trouble) {
      setError(trouble)
      await answered({ error: trouble })
    }
    setBusy(false)
  }
  useEffect(() => {
    const key = (event: KeyboardEvent): void => {
      if (busy || !gate.isDrawn || event.repeat || drawn.current?.offsetParent == null) return
      const isSending = event.key === 'Enter' && (event.ctrlKey || event.metaKey)
      if (isSending && item.answers.some(({ answer }) => answer === 'answer') && !hasDialog()) {
        event.preventDefault()
        void give('answer')
        return
      }
      if (!isPlain(event)) return
      if (mayUndo && event.key === 'u') {
        event.preventDefault()
        setUndoing(true)
        return
      }
      const found = item.answers.find(({ answer }) => ANSWERS[answer]?.key === event.key)
      if (found === undefined) return
      event.preventDefault()
      void give(found.answer)
    }
    addEventListener('keydown', key)
    return () => removeEventListener('keydown', key)
  })
  const isAway = connection.is === 'away'
  const isChoosing = item.answers.some(({ answer }) => answer === 'choose')
  return (
    <article ref={drawn} className="asked" aria-label={`${task ?? name} ${asksWord(asks.type)}`}>
      <header>
        <Glyph sign={asks.type === 'unknown-outcome' ? 'lost' : 'waiting'} size={22} />
        <div>
          <h2>
            <b className="mono">{task ?? name}</b> {asksWord(asks.type)}
          </h2>
          {title !== null && !(asks.type === 'question' && asks.question === title) && <p>{title}</p>}
          <p className="dim">
            <Link to="/plans/$plan" params={{ plan: name }} search={task === null ? {} : { task }} className="link">
              {name}
            </Link>
            {of === null ? '' : `: ${of}`}
            {' · '}waits {span(now - item.since)}
            {item.expiresAt !== null && ` · until ${dateOf(item.expiresAt)}`}
            {item.who !== null && ` · for ${item.who}`}
            {item.role !== null &&
              ` · ${item.role.name}${item.role.people.length === 0 ? '' : `: ${item.role.people.join(', ')}`}`}
          </p>
        </div>
      </header>
      <div className="asked-body">
        <Votes item={item} />
        <AskedWords item={item} />
        {asks.type === 'decision' && (
          <fieldset className="options">
            <legend>Choose one</legend>
            {asks.options.map(one => (
              <label key={one.id} className={option === one.id ? 'option on' : 'option'}>
                <input
                  type="radio"
                  name="option"
                  value={one.id}
                  checked={option === one.id}
                  onChange={() => setOption(one.id)}
                />
                <span>
                  <b className="mono">{one.id}</b> {one.title}
                  {(one.pros ?? []).map(text => (
                    <small key={text} className="pro">
                      + {text}
                    </small>
                  ))}
                  {(one.cons ?? []).map(text => (
                    <small key={text} className="con">
                      − {text}
                    </small>
                  ))}
                  {one.cost !== undefined && <small>cost: {one.cost}</small>}
                </span>
              </label>
            ))}
          </fieldset>
        )}
        <AskedForm form={formOf(item)} values={form} onChange={setForm} />
        {item.checks.length > 0 && (
          <section>
            <h3>Checked before you were asked</h3>
            <Verdicts lines={item.checks.map(verdict => ({ text: verdict.criterion, how: null, verdict }))} />
          </section>
        )}
        <Shown gate={gate} item={item} comments={comments} />
        <Left item={item} />
      </div>
      <footer className="asked-acts">
        {error !== null && <Trouble error={error} />}
        <label className="label">
          <span className="hidden">Comment</span>
          <textarea
            id="why"
            className="field"
            rows={2}
            value={why}
            placeholder={lacksWhy ? 'Say what to change, or why' : `Comment (${commentWanted(item)})`}
            aria-invalid={lacksWhy && why.trim() === ''}
            onKeyDown={event => {
              if (event.key === 'Escape') event.currentTarget.blur()
            }}
            onChange={event => setWhy(event.target.value)}
          />
        </label>
        {lineTexts.size > 0 && (
          <p className="dim">{count(lineTexts.size, 'comment')} on lines, sent with your answer</p>
        )}
        <div className="answers">
          {item.answers.length === 0 && <p className="dim">You can see this, but not answer it.</p>}
          {item.answers.map(({ answer, means }) => {
            const known = ANSWERS[answer] ?? { word: answer }
            const lacksOption = answer === 'choose' && isChoosing && option === null
            return (
              <button
                key={answer}
                type="button"
                className={`button${known.isMain === true ? ' main' : ''}${known.isDanger === true ? ' danger' : ''}`}
                disabled={busy || isAway || !gate.isDrawn || lacksOption}
                title={typeof means === 'string' ? means : undefined}
                onClick={() => void give(answer)}
              >
                {known.word}
                {known.key !== undefined && <kbd>{known.key.toUpperCase()}</kbd>}
                {answer === 'answer' && <kbd>{withKey('↵')}</kbd>}
              </button>
            )
          })}
          {asks.type === 'approval' && item.answers.some(({ answer }) => answer === 'approve') && (
            <Button disabled={busy || isAway || !gate.isDrawn} onClick={() => setEditing(true)}>
              Approve with edits
            </Button>
          )}
          {mayUndo && (
            <Button
              kind="danger"
              disabled={busy || isAway}
              title="Takes back everything the plan did, and ends it"
              onClick={() => setUndoing(true)}
            >
              Undo all<kbd>U</kbd>
            </Button>
          )}
        </div>
        {isUndoing && (
          <Suspense fallback={null}>
            <BackDialog
              plan={item.plan}
              back={{ whole: name }}
              version={item.since}
              onClose={() => setUndoing(false)}
              onDone={() => void answered({ told: [`${name} is undone`] })}
            />
          </Suspense>
        )}
        {isEditing && task !== null && (
          <Suspense fallback={null}>
            <EditOf
              item={item}
              task={task}
              why={why}
              onClose={() => setEditing(false)}
              onDone={() => answered({ told: [`${task} approved, with your edits`] })}
            />
          </Suspense>
        )}
      </footer>
    </article>
  )
}

function EditOf({
  item,
  task,
  why,
  onClose,
  onDone,
}: {
  readonly item: InboxEntry
  readonly task: string
  readonly why: string
  readonly onClose: () => void
  readonly onDone: () => Promise<void>
}) {
  const { plan } = item
  const followed = useLivePlan(plan)
  if (followed === undefined || followed === 'missing') return null
  const { revision } = followed.head
  const seen = hashOf(item)
  const hash = seen === null ? { unseen: true as const } : { hash: seen }
  const rationale = why.trim() === '' ? {} : { rationale: why.trim() }
  return (
    <EditPlan
      plan={plan}
      revision={revision}
      title={`Approve ${task} with edits`}
      yes="Approve with these edits"
      onClose={onClose}
      onDone={async document => {
        await approveWithEdits(plan, task, { document, ...hash, ...rationale })
        await onDone()
      }}
    />
  )
}

const hasDialog = (): boolean => document.querySelector('dialog[open]') !== null

function commentWanted({ answers }: InboxEntry): string {
  const words = answers.flatMap(({ answer }) => {
    const known = ANSWERS[answer]
    return known?.needsWhy === true ? [`"${known.word}"`] : []
  })
  return words.length === 0 ? 'optional' : `optional; needed for ${words.join(' and ')}`
}

function formOf({ asks }: InboxEntry) {
  return asks.type === 'question' || asks.type === 'agent-question' ? asks.form : []
}

function Votes({ item: { votes } }: { readonly item: InboxEntry }) {
  if (votes === null) return null
  return (
    <section>
      <h3>
        Who must agree{' '}
        <s>
          {votes.given.length} of {votes.wanted}
        </s>
      </h3>
      <ul className="files">
        {votes.given.map(({ by, rationale }) => (
          <li key={by}>
            <Glyph sign="completed" size={14} label="agreed" />
            <b>{by}</b> <span className="dim">{rationale}</span>
          </li>
        ))}
        {votes.given.length < votes.wanted && (
          <li className="dim">{votes.wanted - votes.given.length} more must approve</li>
        )}
      </ul>
    </section>
  )
}

function AskedWords({ item: { asks, name, task } }: { readonly item: InboxEntry }) {
  switch (asks.type) {
    case 'question':
      return <p className="asked-text">{asks.question}</p>
    case 'agent-question':
      return (
        <p className="asked-text">
          {asks.text} <span className="dim">asked by {asks.by}</span>
        </p>
      )
    case 'consent':
      return <p className="asked-text">It needs approval before it starts: {asks.why}.</p>
    case 'recovery':
    case 'replan':
      return (
        <div className="trouble">
          <div>
            <p>{asks.failure.message}</p>
            {asks.failure.hint !== undefined && (
              <HintText hint={task === null ? asks.failure.hint : aimHint(asks.failure.hint, { plan: name, task })} />
            )}
          </div>
        </div>
      )
    case 'unknown-outcome':
      return (
        <p className="asked-text">
          It is not known whether this happened: {asks.evidence.reason}. Check, then say what you found.
        </p>
      )
    case 'verdict':
      return (
        <section>
          <h3>Are these met?</h3>
          <Verdicts lines={asks.criteria.map(text => ({ text, how: null, verdict: null }))} />
        </section>
      )
    case 'edits':
      return (
        <section>
          <h3>Files that would be reverted were edited</h3>
          <Paths paths={asks.paths} />
        </section>
      )
    case 'proposal':
      return <ProposalShown asks={asks} />
    case 'rollback':
      return (
        <>
          <p className="asked-text">{asks.message}</p>
          <Paths paths={asks.conflicts} />
        </>
      )
    case 'work':
      return asks.instruction === null ? null : <p className="asked-text">{asks.instruction}</p>
    case 'approval':
      return asks.show.every(text => text === 'diff') ? null : (
        <section>
          <h3>Look at</h3>
          <ul className="files">
            {asks.show
              .filter(text => text !== 'diff')
              .map(text => (
                <li key={text} className="asked-text">
                  {text}
                </li>
              ))}
          </ul>
        </section>
      )
    case 'decision':
      return null
    default:
      return asks satisfies never
  }
}

const Paths = ({ paths }: { readonly paths: readonly string[] }) => (
  <ul className="files">
    {paths.map(path => (
      <li key={path}>
        <code>{path}</code>
      </li>
    ))}
  </ul>
)

const hashOf = ({ asks }: InboxEntry): string | null =>
  'on' in asks ? asks.on : asks.type === 'proposal' ? asks.hash : null

/** Loads what the item shows. Drawn: it is loaded and has the hash of this request, or there is nothing to load. */
function useGate(item: InboxEntry) {
  const { asks, shown, plan, task } = item
  const on = hashOf(item)
  // A review that failed is shown with the work.
  const wanted = task !== null && (shown !== null || asks.type === 'recovery')
  const query = useQuery({
    queryKey: ['gate', plan, task, shown, on],
    queryFn: () => gatePage(plan, task!),
    enabled: wanted,
  })
  const isDrawn =
    !wanted || (query.data !== undefined && query.error === null && (on === null || query.data.hash === on))
  return { ...query, isDrawn }
}

/** Rendered from the stored bytes; on demand as plain terminal text, which is the same on every face. */
function Shown({
  gate: { data, error, isLoading },
  item: { releases },
  comments,
}: {
  readonly gate: ReturnType<typeof useGate>
  readonly item: InboxEntry
  readonly comments: LineComments
}) {
  if (isLoading) return <Skeleton height={120} />
  if (error !== null) return <Trouble error={error} />
  const consent = data?.consent ?? null
  return (
    <>
      {data?.people.map(line => (
        <p key={line} className="dim">
          {line}
        </p>
      ))}
      {data?.hidden === true && <p className="dim">Only people who may decide see what exactly runs.</p>}
      <ConsentShown
        shown={consent?.shown ?? null}
        releases={releases}
        changes={consent?.changes ?? []}
        files={consent?.files ?? []}
        comments={comments}
      />
      {data?.work?.map(({ title, text }) => (
        <section key={title}>
          <h3>{title}</h3>
          <pre className="block">{spelled(text)}</pre>
        </section>
      ))}
      {consent !== null && (
        <details className="consent-words">
          <summary>Full text, as in a terminal</summary>
          <pre className="block">
            {consent.lines.map((line, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: lines are in order.
              <span key={at}>
                {line.map(({ text, tone }, place) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: so are the parts of a line.
                  <span key={place} className={tone === null ? undefined : `tone-${tone}`}>
                    {text}
                  </span>
                ))}
                {'\n'}
              </span>
            ))}
          </pre>
        </details>
      )}
    </>
  )
}

function Left({ item: { evidence, name } }: { readonly item: InboxEntry }) {
  if (evidence.length === 0) return null
  return (
    <section>
      <h3>Tasks before it</h3>
      <ul className="files">
        {evidence.map(({ task, status, paths, message, exit }) => (
          <li key={task}>
            <Glyph sign={status} label={status} />
            <Link to="/plans/$plan" params={{ plan: name }} search={{ task }} className="link mono">
              {task}
            </Link>
            <span className="dim">
              {[
                message,
                paths === null || paths === 0 ? null : count(paths, 'file'),
                exit === null ? null : `exit ${exit}`,
              ]
                .filter(Boolean)
                .join(', ')}
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}
