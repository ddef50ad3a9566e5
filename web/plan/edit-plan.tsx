// Edits the plan as text: validated while typing, with a diff before anything is saved.

import '../styles/drawer.css'
import '../styles/inbox.css'
import '../styles/edit-plan.css'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { planText, tryRevision } from '../data/api.ts'
import { DiffByMeaning } from '../inbox/proposal-shown.tsx'
import { Button, Dialog, OrderButton } from '../parts/button.tsx'
import { Faults, useRested } from '../parts/checked-text.tsx'
import { Skeleton, Trouble } from '../parts/states.tsx'
import { useWork } from '../parts/use-work.ts'

export interface EditPlanProps {
  readonly plan: string
  readonly revision: number
  readonly title: string
  readonly yes: string
  readonly onClose: () => void
  readonly onDone: (text: string) => Promise<void>
}

export default function EditPlan({ plan, revision, title, yes, onClose, onDone }: EditPlanProps) {
  const { data: text, error } = useQuery({
    queryKey: ['plan-text', plan, revision],
    queryFn: () => planText(plan, revision),
  })
  return (
    <Dialog className="edit-plan" aria-labelledby="edit-title" onClose={onClose}>
      <div className="dialog-body">
        <h2 id="edit-title">{title}</h2>
        {error !== null && <Trouble error={error} />}
        {text === undefined && error === null && <Skeleton height={240} />}
        {text !== undefined && <Editor {...{ plan, text, yes, onClose, onDone }} />}
      </div>
    </Dialog>
  )
}

function Editor({
  plan,
  text: before,
  yes,
  onClose,
  onDone,
}: Pick<EditPlanProps, 'plan' | 'yes' | 'onClose' | 'onDone'> & { readonly text: string }) {
  const [text, setText] = useState(before)
  const { busy, error, work } = useWork()
  const rested = useRested(text)
  const tried = useQuery({
    queryKey: ['tried', plan, rested],
    queryFn: () => tryRevision(plan, rested),
    enabled: rested !== before && rested.trim() !== '',
    retry: false,
  })
  const isTried = rested === text && tried.data !== undefined
  const go = (): Promise<void> =>
    work(async () => {
      await onDone(text)
      onClose()
    })
  return (
    <>
      <div className="edit-plan-both">
        <textarea
          className="field mono"
          aria-label="The plan as text"
          spellCheck={false}
          value={text}
          onChange={event => setText(event.target.value)}
        />
        <div className="edit-plan-messages" aria-live="polite">
          {rested === before ? (
            <p className="dim">The difference appears here while you type.</p>
          ) : tried.error !== null ? (
            <Faults error={tried.error} />
          ) : tried.data === undefined ? (
            <p className="dim">Checking…</p>
          ) : (
            <>
              <p>
                <b>{tried.data.summary}</b>
              </p>
              <DiffByMeaning diff={tried.data.diff} />
            </>
          )}
        </div>
      </div>
      {error !== null && <Trouble error={error} />}
      <div className="dialog-acts">
        <Button onClick={onClose}>Close</Button>
        <OrderButton kind="main" disabled={busy || !isTried} onClick={() => void go()}>
          {yes}
        </OrderButton>
      </div>
    </>
  )
}
