// The door of pictures.

export { dot } from './dot.ts'
export { markdown } from './markdown.ts'
export { mermaid } from './mermaid.ts'
export { report } from './report.ts'
export { svg } from './svg.ts'
