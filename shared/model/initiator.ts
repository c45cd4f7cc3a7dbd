/** Who asked: on every entry, execution and audit event. */
export interface Initiator {
  type: 'schedule' | 'dependency' | 'execution' | 'user' | 'system' | 'deployment';
  id: string | null;
  name: string | null;
}
