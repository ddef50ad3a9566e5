// Validates the text of a path: only a plain relative path inside the workspace is valid. Anything that another program could take for
// another place (drives, shares, URLs, `~`, backslashes, `..`) is refused, never repaired.

import { refuse } from '../safety-refusal.ts'

export const PATH_MAX_BYTES = 4096
export const COMPONENT_MAX_BYTES = 255

export function parseRelativePath(text: string): readonly string[] {
  const no = (why: string): never =>
    refuse('policy', `the path ${shown(text)} ${why}`, 'write it relative to the workspace, with forward slashes')
  if (text === '') no('is empty')
  if (Buffer.byteLength(text) > PATH_MAX_BYTES) no(`is longer than ${PATH_MAX_BYTES} bytes`)
  if (/\p{Cs}/u.test(text)) no('is not valid Unicode')
  // Control and bidirectional characters: the path shown at a gate must be the one that is opened.
  if (/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u.test(text)) no('contains control characters')
  if (text.includes('\\')) no('contains a backslash')
  if (text.startsWith('/')) no('is absolute')
  if (text.startsWith('~')) no('begins with ~')
  if (/^[a-z]:/i.test(text)) no('names a drive')
  if (/^(?:file:|[a-z][a-z0-9+.-]*:\/\/)/i.test(text)) no('is a URL')

  const components: string[] = []
  for (const component of text.split('/')) {
    if (component === '..') no('leaves its directory with ..')
    if (component === '') no('has an empty component')
    if (Buffer.byteLength(component) > COMPONENT_MAX_BYTES)
      no(`has a component longer than ${COMPONENT_MAX_BYTES} bytes`)
    if (component !== '.') components.push(component)
  }
  return components
}

function shown(text: string): string {
  return JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text)
}
