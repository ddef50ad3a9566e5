// A list of plain words, written as one text. The compiler knows each of them.

type WordsIn<T extends string> = T extends `${infer First} ${infer Rest}` ? First | WordsIn<Rest> : T

/** `wordList('a b')` is a list of `'a' | 'b'`. */
export const wordList = <T extends string>(text: T): readonly WordsIn<T>[] => text.split(' ') as never
