// The ways in which programs write a value: as it is, escaped, quoted, encoded, dumped, reversed. Whoever looks for a secret looks for
// all of them, and for every part of them that stands for eight characters of it.

/** A way of writing the value, and how many bytes of it say something of its own. */
export interface WrittenForm {
  readonly bytes: Buffer
  readonly part: number
}

/** Fewer characters than these could be anything. */
const PART = 8

export function writtenForms(secret: string, inParts: boolean): readonly WrittenForm[] {
  const raw = Buffer.from(secret)
  // A short value is only looked for whole.
  const isWhole = !inParts || raw.length < PART
  const forms = new Map<string, WrittenForm>()
  for (const [width, write] of FORMS)
    for (const text of write(secret, raw)) {
      const bytes = Buffer.from(text)
      const perByte = width ?? Math.max(1, bytes.length / raw.length)
      const part = isWhole ? bytes.length : Math.min(bytes.length, Math.ceil(PART * perByte))
      if (text !== '' && (forms.get(text)?.part ?? Number.POSITIVE_INFINITY) > part) forms.set(text, { bytes, part })
    }
  return [...forms.values()]
}

/** An escape, the same inside of JSON, and inside of JSON in JSON. */
const SLASHES: readonly string[] = ['\\', '\\\\', '\\\\\\\\']

/** Bytes for one byte of the value. Null: by the length of the whole, so that no part is only what escapes have added. */
type Form = readonly [width: number | null, write: (secret: string, raw: Buffer) => readonly string[]]

const FORMS: readonly Form[] = [
  [null, text => [text, text.trim(), text.toUpperCase(), text.toLowerCase(), [...text].reverse().join('')]],
  [null, text => [text.replaceAll('\n', '\\n'), text.replaceAll('\n', '\r\n')]],
  [null, text => [quoted(text), quoted(quoted(text)), quoted(text).replaceAll('/', '\\/')]],
  [
    null,
    text =>
      SLASHES.map(slash =>
        units(text)
          .map(unit => `${slash}u${unit}`)
          .join(''),
      ),
  ],
  [null, text => [percent(text), percent(text).replaceAll('%20', '+'), percent(percent(text))]],
  [null, text => [percent(text).replace(/%../g, code => code.toLowerCase()), encodeURI(wellFormed(text))]],
  [null, text => [text.replaceAll("'", "'\\''"), text.replaceAll("'", `'"'"'`)]],
  [null, text => [text.replace(/[^\w@%+=:,./-]/g, '\\$&'), text.replace(/["$`\\]/g, '\\$&')]],
  [null, text => [html(text), html(text).replaceAll('&#39;', '&apos;')]],
  [null, text => [10, 16].map(base => [...text].map(one => htmlNumber(one, base)).join(''))],
  [4 / 3, (_, raw) => base64(raw)],
  [2, (_, raw) => hex(raw).map(pairs => pairs.join(''))],
  [3, (_, raw) => hex(raw).flatMap(pairs => [pairs.join(' '), pairs.join(':'), `%${pairs.join('%')}`])],
  [6, (_, raw) => hex(raw).map(pairs => pairs.join(', 0x'))],
  // As dumps write it: two bytes in a group, beginning with either; in octal; as characters.
  [2.5, (_, raw) => hex(raw).flatMap(pairs => [inGroups(pairs), inGroups(['', ...pairs])])],
  [4, (text, raw) => [octal(raw).join(' '), [...text].join('   ')]],
  ...SLASHES.map((slash): Form => {
    const behind = (mark: string, bytes: readonly string[]) => bytes.map(byte => mark + byte).join('')
    return [
      slash.length + 3,
      (_, raw) => [...hex(raw).map(pairs => behind(`${slash}x`, pairs)), behind(slash, octal(raw))],
    ]
  }),
  [2.5, (_, raw) => [raw.join(' '), raw.join(',')]],
  [3.5, (_, raw) => [raw.join(', ')]],
  [2, text => [[...text].join(' ')]],
]

const units = (text: string): readonly string[] =>
  Array.from({ length: text.length }, (_, at) => text.charCodeAt(at).toString(16).padStart(4, '0'))

const quoted = (text: string): string => JSON.stringify(text).slice(1, -1)

const hex = (raw: Buffer): readonly (readonly string[])[] => {
  const pairs = [...raw].map(byte => byte.toString(16).padStart(2, '0'))
  return [pairs, pairs.map(pair => pair.toUpperCase())]
}

const octal = (raw: Buffer): readonly string[] => [...raw].map(byte => byte.toString(8).padStart(3, '0'))

/** Half a character cannot be written in an address. */
const wellFormed = (text: string): string => Buffer.from(text).toString('utf8')

const percent = (text: string): string =>
  encodeURIComponent(wellFormed(text)).replace(/[!'()*]/g, one => `%${one.charCodeAt(0).toString(16).toUpperCase()}`)

const ENTITIES: { readonly [one: string]: string } = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot', "'": '#39' }
const html = (text: string): string => text.replace(/[&<>"']/g, one => `&${ENTITIES[one]};`)

const htmlNumber = (one: string, base: number): string =>
  `&#${base === 16 ? 'x' : ''}${one.codePointAt(0)?.toString(base)};`

/** The digits that depend on nothing but the value, wherever in a longer text it stands. */
function base64(raw: Buffer): readonly string[] {
  return [0, 1, 2].flatMap(before => {
    const encoded = Buffer.concat([Buffer.alloc(before), raw]).toString('base64')
    const own = encoded.slice(Math.ceil((before * 8) / 6), Math.floor(((before + raw.length) * 8) / 6))
    return [own, own.replaceAll('+', '-').replaceAll('/', '_')]
  })
}

const inGroups = (pairs: readonly string[]): string =>
  pairs
    .map((pair, at) => (at % 2 === 0 ? ` ${pair}` : pair))
    .join('')
    .trimStart()
