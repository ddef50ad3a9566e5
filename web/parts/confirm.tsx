// A confirmation dialog for actions that are hard to undo, with an optional reason.

import { type ReactNode, useCallback, useState } from 'react'
import { Button, Dialog, OrderButton } from './button.tsx'

export interface Question {
  readonly title: string
  readonly text?: ReactNode
  readonly yes: string
  readonly isDanger?: boolean
  /** The label of the reason field; without it there is no such field. */
  readonly reason?: string
  readonly isReasonNeeded?: boolean
}

interface Asked extends Question {
  readonly settle: (answer: { readonly reason: string } | null) => void
}

export function useConfirm(): readonly [
  (question: Question) => Promise<{ readonly reason: string } | null>,
  ReactNode,
] {
  const [asked, setAsked] = useState<Asked | null>(null)
  const ask = useCallback(
    (question: Question) =>
      new Promise<{ readonly reason: string } | null>(resolve =>
        setAsked({
          ...question,
          settle: answer => {
            setAsked(null)
            resolve(answer)
          },
        }),
      ),
    [],
  )
  return [ask, asked === null ? null : <ConfirmDialog key="asked" {...asked} />]
}

function ConfirmDialog({ title, text, yes, isDanger = false, reason: label, isReasonNeeded = false, settle }: Asked) {
  const [reason, setReason] = useState('')
  return (
    <Dialog onClose={() => settle(null)} aria-labelledby="confirm-title">
      <form
        className="dialog-body"
        onSubmit={event => {
          event.preventDefault()
          settle({ reason: reason.trim() })
        }}
      >
        <h2 id="confirm-title">{title}</h2>
        {text !== undefined && <div className="dim">{text}</div>}
        {label !== undefined && (
          <label className="label">
            {label}
            <textarea
              className="field"
              value={reason}
              rows={2}
              required={isReasonNeeded}
              onChange={event => setReason(event.target.value)}
            />
          </label>
        )}
        <div className="dialog-acts">
          <Button kind="quiet" onClick={() => settle(null)}>
            Back
          </Button>
          <OrderButton
            type="submit"
            kind={isDanger ? 'danger' : 'main'}
            disabled={isReasonNeeded && reason.trim() === ''}
          >
            {yes}
          </OrderButton>
        </div>
      </form>
    </Dialog>
  )
}
