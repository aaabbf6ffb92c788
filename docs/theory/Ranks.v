(** All ranks from two axes.  docs/theory.md, "All ranks".

    Clauses speak of at most one of the axes that are alike, and of sizes that are there once. *)

From Coq Require Import List.
Import ListNotations.

Section Ranks.
  Variables once axis : Type.
  Variable premise conclusion : once -> Prop.
  Variable premise_of conclusion_of : once -> axis -> Prop.

  Definition obligation (axes : list axis) :=
    forall s, premise s -> Forall (premise_of s) axes -> conclusion s /\ Forall (conclusion_of s) axes.

  Theorem two_axes_stand_for_all :
    (forall a b, obligation [a; b]) -> forall first more, obligation (first :: more).
  Proof.
    intros proved first more s holds each. rewrite Forall_forall in *. split.
    - apply (proved first first); auto. repeat constructor; apply each; simpl; auto.
    - intros a inside. specialize (each a inside).
      destruct (proved a a s holds) as [_ both]; [auto |]. now inversion both.
  Qed.
End Ranks.
