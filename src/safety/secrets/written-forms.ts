// The ways in which programs write a value: as it is, escaped, quoted, encoded, dumped, reversed. Whoever looks for a secret looks for
// all of them, and for every part of them that stands for eight characters of it.

/** A way of writing the value, and how many bytes of it say something of its own. */
export interface WrittenForm {
  readonly bytes: Buffer
  /** A part that is shorter is not looked for. */
  readonly part: number
}

/** Fewer characters than these could be anything. */
const PART = 8

export function writtenForms(secret: string, inParts: boolean): readonly WrittenForm[] {
  const raw = Buffer.from(secret)
  // A short value is only looked for whole.
  const isWhole = !inParts || raw.length < PART
  const forms = new Map<string, WrittenForm>()
  const add = (bytes: Buffer, bytesPerByte: number) => {
    const part = isWhole ? bytes.length : Math.min(bytes.length, Math.ceil(PART * bytesPerByte))
    const key = bytes.toString('latin1')
    if (bytes.length > 0 && (forms.get(key)?.part ?? Number.POSITIVE_INFINITY) > part) forms.set(key, { bytes, part })
  }
  for (const text of texts(secret)) {
    const bytes = Buffer.from(text)
    // What an escape makes longer must not be known by the escape alone.
    add(bytes, Math.max(1, bytes.length / raw.length))
  }
  add(Buffer.from(secret, 'utf16le'), 2)
  add(Buffer.from(secret, 'utf16le').swap16(), 2)
  for (const bytes of [raw, Buffer.from(secret, 'utf16le')])
    for (const text of base64(bytes)) add(Buffer.from(text), 4 / 3)
  for (const text of base32(raw)) add(Buffer.from(text), 8 / 5)
  const hex = [...raw].map(byte => byte.toString(16).padStart(2, '0'))
  for (const pairs of [hex, hex.map(pair => pair.toUpperCase())]) {
    for (const [joint, width] of HEX) add(Buffer.from(pairs.join(joint)), width)
    for (const slash of SLASHES) add(Buffer.from(pairs.map(pair => `${slash}x${pair}`).join('')), slash.length + 3)
    add(Buffer.from(pairs.map(pair => `%${pair}`).join('')), 3)
    // As dumps write it, two bytes in a group.
    add(Buffer.from(inGroups(pairs)), 2.5)
    add(Buffer.from(inGroups(['', ...pairs]).trimStart()), 2.5)
  }
  const octal = [...raw].map(byte => byte.toString(8).padStart(3, '0'))
  for (const slash of SLASHES) add(Buffer.from(octal.map(digits => `${slash}${digits}`).join('')), slash.length + 3)
  add(Buffer.from(octal.join(' ')), 4)
  add(Buffer.from([...raw].join(' ')), 2.5)
  add(Buffer.from([...raw].join(',')), 2.5)
  add(Buffer.from([...raw].join(', ')), 3.5)
  add(Buffer.from([...secret].join('   ')), 4)
  add(Buffer.from([...secret].join(' ')), 2)
  return [...forms.values()]
}

/** An escape, the same inside of JSON, and inside of JSON in JSON. */
const SLASHES: readonly string[] = ['\\', '\\\\', '\\\\\\\\']

const HEX: readonly (readonly [joint: string, width: number])[] = [
  ['', 2],
  [' ', 3],
  [':', 3],
  [', 0x', 6],
]

function texts(secret: string): ReadonlySet<string> {
  const json = JSON.stringify(secret).slice(1, -1)
  const characters = [...secret]
  const units = Array.from({ length: secret.length }, (_, at) => secret.charCodeAt(at))
  const plain = [
    secret,
    json,
    JSON.stringify(json).slice(1, -1),
    json.replaceAll('/', '\\/'),
    ...SLASHES.map(slash => units.map(unit => `${slash}u${unit.toString(16).padStart(4, '0')}`).join('')),
    percent(secret),
    percent(secret).replaceAll('%20', '+'),
    percent(secret).replace(/%../g, code => code.toLowerCase()),
    encodeURI(wellFormed(secret)),
    percent(percent(secret)),
    secret.replaceAll("'", "'\\''"),
    secret.replaceAll("'", `'"'"'`),
    secret.replace(/[^\w@%+=:,./-]/g, '\\$&'),
    secret.replace(/["$`\\]/g, '\\$&'),
    html(secret),
    html(secret).replaceAll('&#39;', '&apos;'),
    characters.map(one => `&#${one.codePointAt(0)};`).join(''),
    characters.map(one => `&#x${one.codePointAt(0)?.toString(16)};`).join(''),
    secret.replaceAll('\n', '\\n'),
    secret.replaceAll('\n', '\r\n'),
  ]
  // Without the blanks at its ends, which programs cut away.
  const all = [...plain, secret.trim(), secret.toUpperCase(), secret.toLowerCase(), characters.reverse().join('')]
  return new Set(all.filter(text => text !== ''))
}

/** Half a character cannot be written in an address. */
const wellFormed = (text: string): string => Buffer.from(text).toString('utf8')

const percent = (text: string): string =>
  encodeURIComponent(wellFormed(text)).replace(/[!'()*]/g, one => `%${one.charCodeAt(0).toString(16).toUpperCase()}`)

const html = (text: string): string =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;')

/** The digits that depend on nothing but the value, wherever in a longer text it stands. */
function base64(raw: Buffer): readonly string[] {
  return [0, 1, 2].flatMap(before => {
    const encoded = Buffer.concat([Buffer.alloc(before), raw]).toString('base64')
    const bits = (before + raw.length) * 8
    const own = encoded.slice(Math.ceil((before * 8) / 6), Math.floor(bits / 6))
    const digits = own === '' ? [] : [own, own.replaceAll('+', '-').replaceAll('/', '_')]
    // Encoded twice, as configuration files do.
    return before === 0 ? [...digits, Buffer.from(encoded).toString('base64').replace(/=+$/, '').slice(0, -4)] : digits
  })
}

const BASE32: readonly string[] = ['ABCDEFGHIJKLMNOPQRSTUVWXYZ234567', '0123456789ABCDEFGHIJKLMNOPQRSTUV']

/** The same in base32, of both alphabets, in large and small letters: five bits a digit, so five places in a longer text. */
function base32(raw: Buffer): readonly string[] {
  return [0, 1, 2, 3, 4].flatMap(before => {
    const bits = [...raw].map(byte => byte.toString(2).padStart(8, '0')).join('')
    const own = bits.slice((5 - ((before * 8) % 5)) % 5)
    const digits = Array.from({ length: Math.floor(own.length / 5) }, (_, at) =>
      Number.parseInt(own.slice(at * 5, at * 5 + 5), 2),
    )
    const written = BASE32.map(alphabet => digits.map(digit => alphabet[digit]).join('')).filter(text => text !== '')
    return written.flatMap(text => [text, text.toLowerCase()])
  })
}

function inGroups(pairs: readonly string[]): string {
  return pairs
    .map((pair, at) => (at % 2 === 0 ? ` ${pair}` : pair))
    .join('')
    .trimStart()
}
