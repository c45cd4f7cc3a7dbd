export { checkInvariants } from '../../local/testing/check-invariants.ts';
