type Primitive = string | number | boolean | null;

/** What JSON cannot say: an object loses such a member, a list says null in its place. */
type Unsaid = undefined | symbol | ((...args: never[]) => unknown);

/**
 * What is left of a value that was written as JSON and read again: a date is a string, a member that may be undefined may be missing, a map is an empty object.
 * Nothing at all, or undefined, is null. A function, a symbol or a big integer leaves `never`: it cannot be recorded.
 */
export type Jsonify<T> = unknown extends T
  ? T
  : T extends { toJSON(...args: never[]): infer Said }
    ? Jsonify<Said>
    : T extends Primitive
      ? T
      : undefined extends T
        ? null
        : T extends Unsaid | bigint
          ? never
          : T extends ReadonlyMap<unknown, unknown> | ReadonlySet<unknown>
            ? Record<string, never>
            : T extends readonly unknown[]
              ? { -readonly [Index in keyof T]: JsonifyItem<T[Index]> }
              : T extends object
                ? Flat<
                    { -readonly [Key in keyof T as KeyOf<T, Key, 'always'>]: Jsonify<T[Key]> } & {
                      -readonly [Key in keyof T as KeyOf<T, Key, 'sometimes'>]?: Jsonify<Exclude<T[Key], Unsaid>>;
                    }
                  >
                : never;

type JsonifyItem<T> = T extends Unsaid ? null : Jsonify<T>;

/** The keys that JSON says whatever the value is, or only for some values; one that it never says is in neither. */
type KeyOf<T, Key extends keyof T, When extends 'always' | 'sometimes'> = Key extends symbol
  ? never
  : unknown extends T[Key]
    ? When extends 'always'
      ? Key
      : never
    : [T[Key]] extends [Unsaid]
      ? never
      : Extract<T[Key], Unsaid> extends never
        ? When extends 'always'
          ? Key
          : never
        : When extends 'sometimes'
          ? Key
          : never;

/** One object type instead of an intersection, for whoever reads it in an editor. */
type Flat<T> = { [Key in keyof T]: T[Key] };
