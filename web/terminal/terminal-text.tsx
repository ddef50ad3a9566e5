// Text from a program with the colours and links that it printed for a terminal.

import '../styles/terminal.css'
import { Fragment, memo, useMemo } from 'react'
import { type Piece, PLAIN, readTerminalLine, readTerminalText, type Style } from './terminal-line.ts'

/** One line of a log, as it was stored. */
export const TerminalLine = memo(function TerminalLine({
  line,
  style = PLAIN,
}: {
  readonly line: string
  readonly style?: Style
}) {
  return <Pieces pieces={readTerminalLine(line, style).pieces} hasLinks />
})

/** A failure, a reason or a sentence that quotes a program. `inButton`: without links, which a button cannot contain. */
export function TerminalText({ text, inButton = false }: { readonly text: string; readonly inButton?: boolean }) {
  const lines = useMemo(() => readTerminalText(text), [text])
  return lines.map((pieces, at) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: lines are in order.
    <Fragment key={at}>
      {at > 0 && '\n'}
      <Pieces pieces={pieces} hasLinks={!inButton} />
    </Fragment>
  ))
}

function Pieces({ pieces, hasLinks }: { readonly pieces: readonly Piece[]; readonly hasLinks: boolean }) {
  return pieces.map(({ text, look, href }, at) =>
    href !== null && hasLinks ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: pieces are in order.
      <a key={at} href={href} title={href} target="_blank" rel="noreferrer noopener" className={`t-link ${look}`}>
        {text}
        {/* A link may say one host and lead to another. */}
        {!text.includes(new URL(href).host) && <small> ({new URL(href).host})</small>}
      </a>
    ) : look === '' ? (
      text
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: pieces are in order.
      <span key={at} className={look}>
        {text}
      </span>
    ),
  )
}
