// Writes what the service answers as JSON Schema, from the types in src/format/wire/answers: each exported type is one schema, its
// comments are the descriptions, and tags such as `@asType integer` say what a type of TypeScript cannot. Part of the build, and of a
// test run for which nothing was built.
//
//   node scripts/answer-schemas.mjs [FILE]      dist/answer-schemas.json when none is named

import { mkdirSync, readdirSync, renameSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const TYPES = join(root, 'src/format/wire/answers')
const SCHEMAS = join(root, 'dist/answer-schemas.json')
/** Parts of many answers, written out where they are used. */
const PARTS = 'fields.ts'

async function writeAnswerSchemas(file) {
  const { createFormatter, createParser, DEFAULT_CONFIG, SchemaGenerator } = await import('ts-json-schema-generator')
  // The generator brings the last compiler that can be asked about types from JavaScript; the one of this package cannot.
  const ts = createRequire(import.meta.resolve('ts-json-schema-generator'))('typescript')
  const config = { ...DEFAULT_CONFIG, jsDoc: 'extended', skipTypeCheck: true, encodeRefs: false, sortProps: false }
  config.extraTags = ['contentEncoding']
  // Neither Node nor the whole standard library: reading these takes longer than all the rest.
  const program = ts.createProgram(
    readdirSync(TYPES).map(name => join(TYPES, name)),
    {
      target: ts.ScriptTarget.ES2023,
      module: ts.ModuleKind.NodeNext,
      lib: ['lib.es5.d.ts'],
      types: [],
      strict: true,
      allowImportingTsExtensions: true,
      noEmit: true,
    },
  )
  const generator = new SchemaGenerator(program, createParser(program, config), createFormatter(config), config)
  const { definitions } = generated(generator)
  const answers = new Set(
    program
      .getSourceFiles()
      .filter(({ fileName }) => dirname(fileName) === TYPES && basename(fileName) !== PARTS)
      .flatMap(({ fileName, statements }) => exportsOf(ts, statements).map(name => known(definitions, name, fileName))),
  )
  const schemas = Object.fromEntries(
    [...answers].sort().map(name => [name, written(definitions[name], definitions, answers)]),
  )
  mkdirSync(dirname(file), { recursive: true })
  // Whole or not at all: several test runs may write it at once.
  writeFileSync(
    `${file}.${process.pid}`,
    `${JSON.stringify({ ...schemas, Json: { description: 'Any JSON value.' } })}\n`,
  )
  renameSync(`${file}.${process.pid}`, file)
}

function generated(generator) {
  try {
    return generator.createSchema('*')
  } catch (error) {
    // Its own error holds the whole syntax tree.
    throw new Error(
      `src/format/wire/answers cannot be read (${error.cause?.message ?? error.message}): npm run typecheck says where`,
    )
  }
}

const exportsOf = (ts, statements) =>
  statements
    .filter(one => one.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword))
    .map(({ name }) => name.text)

function known(definitions, name, file) {
  if (definitions[name] === undefined) throw new Error(`${file} exports '${name}', which is no type`)
  return name
}

/** With references to answers kept, all others written out, and each description in one line. */
function written(schema, definitions, answers) {
  if (Array.isArray(schema)) return schema.map(one => written(one, definitions, answers))
  if (schema === null || typeof schema !== 'object') return schema
  const { $ref, ...rest } = schema
  const made = Object.fromEntries(
    Object.entries(rest).map(([key, value]) => [
      key,
      key === 'description' && typeof value === 'string'
        ? value.replace(/\s+/g, ' ')
        : written(value, definitions, answers),
    ]),
  )
  if ($ref === undefined) return made
  const name = $ref.replace('#/definitions/', '')
  if (answers.has(name) || name === 'Json') return { $ref: `#/components/schemas/${name}`, ...made }
  return { ...written(definitions[name], definitions, answers), ...made }
}

await writeAnswerSchemas(process.argv[2] ?? SCHEMAS)
