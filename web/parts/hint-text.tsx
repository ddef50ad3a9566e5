// A hint as people on this page read it: words, with commands set apart for copying.

import { Fragment } from 'react'
import { type Hint, partsOf, plainStep } from '../../src/domain/hint.ts'

export function HintText({ hint }: { readonly hint: Hint }) {
  return (
    <p>
      {partsOf(hint).map((part, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: parts are in order.
        <Fragment key={at}>
          {typeof part === 'string' ? part : 'may' in part ? part.may : <code>planfold {plainStep(part)}</code>}
        </Fragment>
      ))}
    </p>
  )
}
