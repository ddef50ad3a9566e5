// One request: who asks, since when, what an answer starts, and the possible answers. It shows what was stored when the request
// was made, and an answer is bound to its hash, so a person cannot agree to anything else.

import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useRef, useState } from 'react'
import type { InboxEntry } from '../data/api.ts'
import { plans } from '../data/queries.ts'
import { useNow } from '../parts/clock.ts'
import type { LineComments } from '../parts/diff.tsx'
import { Glyph } from '../parts/glyph.tsx'
import { asksWord, dateOf, span } from '../parts/words.ts'
import { Verdicts } from '../plan/criteria.tsx'
import { AnswerBar } from './answer-bar.tsx'
import type { Answer } from './answer-result.tsx'
import { AskedWords, Options, TasksBefore, Votes } from './asked-words.tsx'
import { GateShown, useGate } from './gate-shown.tsx'
import { AskedForm, emptyAnswers } from './question-form.tsx'

export function AskedItem({ item, onAnswer }: Readonly<{ item: InboxEntry; onAnswer: (answer: Answer) => void }>) {
  const { asks, task, name } = item
  const gate = useGate(item)
  const drawn = useRef<HTMLElement>(null)
  const [lines, setLines] = useState<ReadonlyMap<string, string>>(new Map())
  const [option, setOption] = useState<string | null>(null)
  const questions = asks.type === 'question' || asks.type === 'agent-question' ? asks.form : []
  const [form, setForm] = useState(() => emptyAnswers(questions))
  const comments: LineComments = {
    texts: lines,
    say: (place, text) =>
      setLines(before => {
        const next = new Map(before)
        if (text === null) next.delete(place)
        else next.set(place, text)
        return next
      }),
  }
  return (
    <article ref={drawn} className="asked" aria-label={`${task ?? name} ${asksWord(asks.type)}`}>
      <Asker item={item} />
      <div className="asked-body">
        <Votes item={item} />
        <AskedWords item={item} />
        <Options item={item} option={option} onOption={setOption} />
        <AskedForm form={questions} values={form} onChange={setForm} />
        {item.checks.length > 0 && (
          <section>
            <h3>Checked before you were asked</h3>
            <Verdicts lines={item.checks.map(verdict => ({ text: verdict.criterion, how: null, verdict }))} />
          </section>
        )}
        <GateShown gate={gate} item={item} comments={comments} />
        <TasksBefore item={item} />
      </div>
      <AnswerBar item={item} given={{ option, form, lines }} isDrawn={gate.isDrawn} drawn={drawn} onAnswer={onAnswer} />
    </article>
  )
}

/** Who asks, in which plan, since when and for whom. */
function Asker({
  item: { asks, task, name, plan, title, since, expiresAt, who, role },
}: {
  readonly item: InboxEntry
}) {
  const now = useNow()
  const row = useQuery(plans).data?.rows.find(({ id }) => id === plan)
  const of = row?.title ?? row?.goal ?? null
  return (
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
          {' · '}waits {span(now - since)}
          {expiresAt !== null && ` · until ${dateOf(expiresAt)}`}
          {who !== null && ` · for ${who}`}
          {role !== null && ` · ${role.name}${role.people.length === 0 ? '' : `: ${role.people.join(', ')}`}`}
        </p>
      </div>
    </header>
  )
}
