// The canonical format seen as one more dialect: for `--from planfold`, which reads a text as ours whatever else it looks like.

import { isMap } from '../../domain/json.ts'
import type { Path } from '../text/diagnostic.ts'
import { Trace, type Where } from '../text/source-map.ts'
import type { Dialect } from './dialect.ts'

/** Every place is where it stands. */
const ITSELF = new (class extends Trace {
  override find(path: Path): Where {
    return { path }
  }
})()

export const canonical: Dialect = {
  name: 'planfold',
  about: "Planfold's own plan files (YAML or JSON)",
  recognises: ({ map }) => map !== null && Object.hasOwn(map, 'planfold'),
  read: source => {
    const { read } = source
    if (!read.ok) return read
    const { value, place } = read.document
    if (!isMap(value)) {
      const hint = "begin with 'planfold: 1' and a list of 'tasks'"
      return {
        ok: false,
        diagnostics: [place({ path: [], message: 'a plan file must be a mapping (key: value)', hint })],
      }
    }
    return { ok: true, plan: value, trace: ITSELF, warnings: [], sketch: [], ended: new Map(), underWay: new Set() }
  },
}
