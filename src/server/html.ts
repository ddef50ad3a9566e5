// HTML whose texts cannot become anything else: what is put into a template is escaped, unless it was made by one.

export interface Html {
  readonly html: string
}

type Piece = string | number | Html | readonly Html[]

export function html(strings: TemplateStringsArray, ...pieces: readonly Piece[]): Html {
  return { html: strings.reduce((made, text, at) => made + shown(pieces[at - 1]!) + text) }
}

/** A sentence of ours: what stands in backticks is code. */
export function sentence(text: string): Html {
  const pieces = text.split(/`([^`]+)`/)
  return {
    html: pieces.map((piece, at) => (at % 2 === 1 ? `<code>${escaped(piece)}</code>` : escaped(piece))).join(''),
  }
}

function shown(piece: Piece): string {
  if (typeof piece === 'string' || typeof piece === 'number') return escaped(String(piece))
  return 'html' in piece ? piece.html : piece.map(({ html }) => html).join('')
}

const ENTITIES: { readonly [char: string]: string } = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

const escaped = (text: string): string => text.replaceAll(/[&<>"']/g, char => ENTITIES[char]!)
