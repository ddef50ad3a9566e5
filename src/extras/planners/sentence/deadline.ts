// The deadline in a goal. Only full dates are resolved: `Friday` depends on when it is read.

export interface Deadline {
  /** In the goal's words: `by Friday`. */
  readonly said: string
  /** `2026-12-01`; null if it is not a full date. */
  readonly at: string | null
}

const MONTH =
  '(?<month>jan(?:uary?|vier)?|enero|janeiro|feb(?:ruary?|rero)?|février|fevereiro|mar(?:ch|s|zo|ço)?|märz|apr(?:il)?|avril|abril|ma[yi]|mayo|maio|june?|juni|juin|junio|junho|july?|juli|juillet|julio|julho|aug(?:ust)?|août|agosto|sept?(?:ember|embre)?|septiembre|setembro|o[ck]t(?:ober|obre|ubre)?|outubro|nov(?:ember|embre)?|noviembre|novembro|de[cz](?:ember)?|décembre|diciembre|dezembro)'
const STARTS =
  'jan|ene feb|fév|fev mar|mär apr|avr|abr may|mai jun|jui(?=n) jul|jui aug|aoû|ago sep|set oct|okt|out nov dec|dez|déc|dic'
    .split(' ')
    .map(starts => new RegExp(`^(?:${starts})`, 'i'))
const LEAD =
  "by|before|until|till|no later than|not later than|due(?: on| by)?|bis(?: zum)?|vor dem|avant(?: le)?|d'ici(?: le| au)?|antes del?|hasta el|para el|até"
const YEAR = '(?:,?(?: de)? (?<year>\\d{4}))?'
const DATES = [
  '(?<year>\\d{4})-(?<number>\\d{2})-(?<day>\\d{2})',
  '(?<day>\\d{1,2})\\.(?<number>\\d{1,2})\\.(?<year>\\d{4})',
  `(?<day>\\d{1,2})(?:st|nd|rd|th|\\.|er)?(?: of| de)? ${MONTH}${YEAR}`,
  `${MONTH} (?<day>\\d{1,2})(?:st|nd|rd|th)?${YEAR}`,
  '(?:next |this |the )?(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|tomorrow|tonight|today|noon|end of (?:the |this |next )?(?:day|week|month|quarter|year)|next (?:week|month|quarter|year)|eod|eow|(?:mon|diens|donners|frei|sams|sonn)tag|mittwoch|morgen|heute|lundi|mardi|mercredi|jeudi|vendredi|demain|lunes|martes|miércoles|jueves|viernes|mañana|segunda|sexta|amanhã)',
].map(date => new RegExp(`(?<![\\w-])(?:${LEAD}) ${date}(?![\\p{L}\\d/-])`, 'iu'))
/** Dates of data, not of the work: "records created before 2020-01-01". */
const OF_DATA =
  /\b(?:dates?|times?|timestamps?|records?|rows|entries|events|orders|values|files|logs|commits|users|created|updated|older|data|years?|valid|expires?|is|are|was)\s*$/i

export function deadlineIn(text: string): Deadline | null {
  for (const pattern of DATES) {
    const found = pattern.exec(text)
    if (found === null || OF_DATA.test(text.slice(0, found.index))) continue
    const { year, number, month, day } = found.groups ?? {}
    return { said: found[0], at: isoDate(year, number ?? monthOf(month), day) }
  }
  return null
}

const monthOf = (word = ''): number => STARTS.findIndex(start => start.test(word)) + 1

function isoDate(year: string | undefined, month: string | number, day = ''): string | null {
  if (year === undefined) return null
  const date = new Date(`${year}-${String(month).padStart(2, '0')}-${day.padStart(2, '0')}T00:00:00Z`)
  const isDay = !Number.isNaN(date.getTime()) && date.getUTCDate() === Number(day)
  return isDay ? date.toISOString().slice(0, 10) : null
}
