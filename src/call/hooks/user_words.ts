/** The words of the user in one session, as far as hooks of the client reported them over its own connection. */
export interface UserWords {
  add(text: string): void;
  /** The newest last. */
  texts(): readonly string[];
}

const MOST_TEXTS = 50;
const MOST_CHARACTERS = 200_000;

export function createUserWords(): UserWords {
  const texts: string[] = [];
  let characters = 0;
  return {
    add(text) {
      texts.push(text);
      characters += text.length;
      while (texts.length > MOST_TEXTS || characters > MOST_CHARACTERS && texts.length > 1) {
        characters -= texts.shift()!.length;
      }
    },
    texts: () => texts,
  };
}
