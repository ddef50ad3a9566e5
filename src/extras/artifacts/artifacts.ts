// Door of `extras/artifacts`: artifacts as a product. The core collects, checks and records them; here are their commands, their routes, and
// the folder layout of `.openagent`.

export { uploadFile } from './uploads.ts'
