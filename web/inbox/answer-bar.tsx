// The answers to a request, with a comment: buttons and keys. No answer is accepted before the request is drawn, nor from a key that is
// held down.

import { lazy, type RefObject, Suspense, useEffect, useState } from 'react'
import { type AnswerBody, answerInbox, approveWithEdits, type InboxEntry } from '../data/api.ts'
import { useConnection, useLivePlan } from '../data/live.ts'
import { queryClient, useRights } from '../data/queries.ts'
import { Button } from '../parts/button.tsx'
import { withKey } from '../parts/command.tsx'
import { isPlain } from '../parts/shell.tsx'
import { Trouble } from '../parts/states.tsx'
import { count } from '../parts/words.ts'
import type { Answer } from './answer-result.tsx'
import { hashOf } from './gate-shown.tsx'

const EditPlan = lazy(() => import('../plan/edit-plan.tsx'))
const BackDialog = lazy(async () => ({ default: (await import('../plan/back-dialog.tsx')).BackDialog }))

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

/** What was chosen and written in the request itself. */
export interface Given {
  readonly option: string | null
  readonly form: NonNullable<AnswerBody['answers']>
  /** Comments on single lines, by place. */
  readonly lines: ReadonlyMap<string, string>
}

interface AnswerBarProps {
  readonly item: InboxEntry
  readonly given: Given
  readonly isDrawn: boolean
  /** The request; keys answer it only while it is on the screen. */
  readonly drawn: RefObject<HTMLElement | null>
  readonly onAnswer: (answer: Answer) => void
}

export function AnswerBar({ item, given, isDrawn, drawn, onAnswer }: AnswerBarProps) {
  const { asks, task, name } = item
  const [why, setWhy] = useState('')
  const [busy, setBusy] = useState(false)
  const [isEditing, setEditing] = useState(false)
  const [isUndoing, setUndoing] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const [lacksWhy, setLacksWhy] = useState(false)
  const isOff = useConnection().is === 'away' || busy
  const { operate } = useRights()
  const mayUndo = operate && asks.type === 'approval' && (asks.gate === 'diff' || asks.show.includes('diff'))
  const answered = async (came: Answer['came'], answer: string): Promise<void> => {
    onAnswer({ item, answer, came })
    await queryClient.invalidateQueries({ queryKey: ['inbox'] })
  }
  const give = async (answer: string): Promise<void> => {
    const needsWhy = ANSWERS[answer]?.needsWhy === true
    // Comments on single lines are sent together with the general comment.
    const rationale = [why.trim(), ...[...given.lines].map(([place, text]) => `${place}: ${text.trim()}`)]
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
      ...(answer === 'choose' && given.option !== null ? { option: given.option } : {}),
      ...(answer === 'answer' ? { answers: given.form } : {}),
    }
    setBusy(true)
    setError(null)
    try {
      await answered({ told: (await answerInbox(item.id, body)).told }, answer)
    } catch (trouble) {
      setError(trouble)
      await answered({ error: trouble }, answer)
    }
    setBusy(false)
  }
  useEffect(() => {
    const key = (event: KeyboardEvent): void => {
      if (isOff || !isDrawn || event.repeat || drawn.current?.offsetParent == null) return
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
  return (
    <footer className="asked-acts">
      {error !== null && <Trouble error={error} />}
      {item.answers.length > 0 && (
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
      )}
      {given.lines.size > 0 && (
        <p className="dim">{count(given.lines.size, 'comment')} on lines, sent with your answer</p>
      )}
      <div className="answers">
        {item.answers.length === 0 && <p className="dim">You can see this, but not answer it.</p>}
        {item.answers.map(({ answer, means }) => {
          const known = ANSWERS[answer] ?? { word: answer }
          const lacksOption = answer === 'choose' && given.option === null
          return (
            <button
              key={answer}
              type="button"
              className={`button${known.isMain === true ? ' main' : ''}${known.isDanger === true ? ' danger' : ''}`}
              disabled={isOff || !isDrawn || lacksOption}
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
          <Button disabled={isOff || !isDrawn} onClick={() => setEditing(true)}>
            Approve with edits
          </Button>
        )}
        {mayUndo && (
          <Button
            kind="danger"
            disabled={isOff}
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
            onDone={() => void answered({ told: [`${name} is undone`] }, 'undo')}
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
            onDone={() => answered({ told: [`${task} approved, with your edits`] }, 'approve')}
          />
        </Suspense>
      )}
    </footer>
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
